-- Business records of any kind: issues, delegations, insights, and whatever an
-- org's own tools keep. A new kind needs no migration.

CREATE TABLE records (
  org BYTEA NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  id BYTEA NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, kind, id)
);
