-- Log-ins of users by their browsers. Only the SHA-256 of the token is stored.
CREATE TABLE logins (
  id BLOB PRIMARY KEY NOT NULL,
  token_hash BLOB NOT NULL UNIQUE,
  user_id BLOB NOT NULL REFERENCES users (id),
  method TEXT NOT NULL,
  address TEXT NOT NULL,
  client TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX logins_by_user ON logins (user_id, id);
CREATE INDEX logins_by_use ON logins (used_at);

-- The one-time code with which a user sets a password; a user has one at most.
CREATE TABLE password_codes (
  user_id BLOB PRIMARY KEY NOT NULL REFERENCES users (id),
  code_hash BLOB NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
) WITHOUT ROWID;

-- Accounts of users at identity providers.
CREATE TABLE login_identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (issuer, subject)
) WITHOUT ROWID;

-- Tried log-ins by the hour. A name holds hashes and networks.
CREATE TABLE login_attempts (
  name TEXT NOT NULL,
  ends_at BIGINT NOT NULL,
  used BIGINT NOT NULL,
  PRIMARY KEY (name, ends_at)
) WITHOUT ROWID;
CREATE INDEX login_attempts_by_end ON login_attempts (ends_at);

-- Scopes of a key, separated by spaces; none means all that its role allows.
ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT '';
