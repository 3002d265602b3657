-- Bytes beside messages: images, recordings, files.

CREATE TABLE blobs (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  data TEXT NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (org, id)
);
