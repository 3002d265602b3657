-- People: those with a log-in, the keys of programs, and contacts outside.

-- A person may belong to several orgs, so this table has no org of its own.
-- `email_key` is the address as it is compared; `password` is a PHC string.
CREATE TABLE users (
  id BLOB PRIMARY KEY NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE memberships (
  org BLOB NOT NULL REFERENCES orgs (id),
  user_id BLOB NOT NULL REFERENCES users (id),
  role TEXT NOT NULL,
  PRIMARY KEY (org, user_id)
) WITHOUT ROWID;
CREATE INDEX memberships_of ON memberships (user_id, org);
CREATE INDEX memberships_as ON memberships (org, role);

-- The secret is kept only as its SHA-256, `shown` is its beginning.
CREATE TABLE api_keys (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  shown TEXT NOT NULL,
  secret_hash BLOB NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;

-- `phone_key` and `email_key` are the details as they are compared.
CREATE TABLE contacts (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
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
  org BLOB NOT NULL REFERENCES orgs (id),
  channel TEXT NOT NULL,
  identifier TEXT NOT NULL,
  contact BLOB NOT NULL,
  PRIMARY KEY (org, channel, identifier)
) WITHOUT ROWID;
CREATE INDEX contact_identifiers_of ON contact_identifiers (org, contact, channel, identifier);
