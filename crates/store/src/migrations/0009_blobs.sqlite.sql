-- Bytes beside messages: images, recordings, files.

CREATE TABLE blobs (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  created_at BIGINT NOT NULL,
  data TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (org, id)
);
