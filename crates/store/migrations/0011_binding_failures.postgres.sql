-- Bindings that cannot receive messages at the moment, and why.
CREATE TABLE binding_failures (
  org BYTEA NOT NULL REFERENCES orgs (id),
  binding BYTEA NOT NULL,
  reason TEXT NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (org, binding)
);
