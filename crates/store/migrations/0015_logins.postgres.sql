-- Log-ins of users by their browsers. Only the SHA-256 of the token is stored.
CREATE TABLE logins (
  id BYTEA PRIMARY KEY NOT NULL,
  token_hash BYTEA NOT NULL UNIQUE,
  user_id BYTEA NOT NULL REFERENCES users (id),
  method TEXT NOT NULL,
  address TEXT NOT NULL,
  client TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX logins_by_user ON logins (user_id, id);
CREATE INDEX logins_by_use ON logins (used_at);

-- The one-time code with which a user sets a password; a user has one at most.
CREATE TABLE password_codes (
  user_id BYTEA PRIMARY KEY NOT NULL REFERENCES users (id),
  code_hash BYTEA NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);

-- Accounts of users at identity providers.
CREATE TABLE login_identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id BYTEA NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (issuer, subject)
);

-- Tried log-ins by the hour. A name holds hashes and networks.
CREATE TABLE login_attempts (
  name TEXT NOT NULL,
  ends_at BIGINT NOT NULL,
  used BIGINT NOT NULL,
  PRIMARY KEY (name, ends_at)
);
CREATE INDEX login_attempts_by_end ON login_attempts (ends_at);

-- Scopes of a key, separated by spaces; none means all that its role allows.
ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT '';

-- These belong to the installation: no transaction of one org reads them.
ALTER TABLE logins ENABLE ROW LEVEL SECURITY;
ALTER TABLE logins FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON logins
  USING ((SELECT coalesce(current_setting('ostler.scope', true), '') = 'all'));
ALTER TABLE password_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE password_codes FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON password_codes
  USING ((SELECT coalesce(current_setting('ostler.scope', true), '') = 'all'));
ALTER TABLE login_identities ENABLE ROW LEVEL SECURITY;
ALTER TABLE login_identities FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON login_identities
  USING ((SELECT coalesce(current_setting('ostler.scope', true), '') = 'all'));
ALTER TABLE login_attempts ENABLE ROW LEVEL SECURITY;
ALTER TABLE login_attempts FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON login_attempts
  USING ((SELECT coalesce(current_setting('ostler.scope', true), '') = 'all'));
