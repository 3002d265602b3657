-- People: those with a log-in, the keys of programs, and contacts outside.

-- A person may belong to several orgs, so this table has no org of its own.
-- `email_key` is the address as it is compared; `password` is a PHC string.
CREATE TABLE users (
  id BYTEA PRIMARY KEY NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password TEXT NOT NULL
);

CREATE TABLE memberships (
  org BYTEA NOT NULL REFERENCES orgs (id),
  user_id BYTEA NOT NULL REFERENCES users (id),
  role TEXT NOT NULL,
  PRIMARY KEY (org, user_id)
);
CREATE INDEX memberships_of ON memberships (user_id, org);
CREATE INDEX memberships_as ON memberships (org, role);

-- A transaction of one org sees the people of that org, and changes none: it
-- reads `memberships`, which is held to the org itself.
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON users
  USING ((SELECT coalesce(current_setting('ostler.scope', true), '') = 'all'));
CREATE POLICY tenant ON users FOR SELECT
  USING (EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = users.id));

-- The secret is kept only as its SHA-256, `shown` is its beginning.
CREATE TABLE api_keys (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  shown TEXT NOT NULL,
  secret_hash BYTEA NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  PRIMARY KEY (org, id)
);

-- `phone_key` and `email_key` are the details as they are compared.
CREATE TABLE contacts (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  version BIGINT NOT NULL,
  phone_key TEXT,
  email_key TEXT,
  data TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX contacts_phone ON contacts (org, phone_key, id) WHERE phone_key IS NOT NULL;
CREATE INDEX contacts_email ON contacts (org, email_key, id) WHERE email_key IS NOT NULL;

-- What channels call a contact, as it is compared.
CREATE TABLE contact_identifiers (
  org BYTEA NOT NULL REFERENCES orgs (id),
  channel TEXT NOT NULL,
  identifier TEXT NOT NULL,
  contact BYTEA NOT NULL,
  PRIMARY KEY (org, channel, identifier)
);
CREATE INDEX contact_identifiers_of ON contact_identifiers (org, contact, channel, identifier);
