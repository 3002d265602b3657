-- Invitations to an org. Only the SHA-256 of the code is stored; `invited_by` is the
-- actor of the audit entry. An accepted invitation stays, a withdrawn one is deleted.
CREATE TABLE invitations (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  code_hash BLOB NOT NULL UNIQUE,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL,
  role TEXT NOT NULL,
  invited_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  accepted_at BIGINT,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;

CREATE INDEX audit_by_actor ON audit (org, actor, id);
CREATE INDEX audit_by_action ON audit (org, action, id);
