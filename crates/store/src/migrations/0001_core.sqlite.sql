-- Orgs and what they own. Ids are 16 bytes, times are milliseconds since 1970
-- in UTC, structured values are JSON texts.

CREATE TABLE orgs (
  id BLOB PRIMARY KEY NOT NULL,
  slug TEXT NOT NULL UNIQUE,
  data TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE agents (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  slug TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id),
  UNIQUE (org, slug)
) WITHOUT ROWID;

CREATE TABLE soul_versions (
  org BLOB NOT NULL REFERENCES orgs (id),
  owner BLOB NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, owner, version)
) WITHOUT ROWID;

-- A conversation and its lease. `pending_at` is from when on it can be claimed:
-- nothing when no message waits, the end of the lease while a worker has it.
-- `in_seq` and `out_seq` number its messages in the order they were accepted
-- and committed, whatever the clocks of the nodes say.
CREATE TABLE conversations (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  key TEXT NOT NULL,
  epoch BIGINT NOT NULL DEFAULT 0,
  in_seq BIGINT NOT NULL DEFAULT 0,
  out_seq BIGINT NOT NULL DEFAULT 0,
  pending_at BIGINT,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org, id),
  UNIQUE (org, key)
) WITHOUT ROWID;
CREATE INDEX conversations_pending ON conversations (org, pending_at) WHERE pending_at IS NOT NULL;
CREATE INDEX conversations_leased ON conversations (org, lease_until) WHERE lease_until > 0;

-- The tables of every message and turn refer to orgs without a foreign key: the
-- conversation has one, and a check for each row would cost more than it gives.
CREATE TABLE inbox (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  conversation BLOB NOT NULL,
  seq BIGINT NOT NULL,
  binding BLOB NOT NULL,
  provider_id TEXT NOT NULL,
  payload TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  reason TEXT,
  PRIMARY KEY (org, id),
  UNIQUE (org, binding, provider_id)
) WITHOUT ROWID;
CREATE INDEX inbox_pending ON inbox (org, conversation, seq) WHERE state = 'pending';

CREATE TABLE sessions (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  conversation BLOB NOT NULL,
  thread BLOB NOT NULL,
  status TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX sessions_of ON sessions (org, conversation, id);

CREATE TABLE messages (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  seq BIGINT NOT NULL,
  id BLOB NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, thread, seq)
) WITHOUT ROWID;

CREATE TABLE runs (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  session BLOB NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX runs_of ON runs (org, session, id);

CREATE TABLE outbox (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  conversation BLOB NOT NULL,
  seq BIGINT NOT NULL,
  author TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  payload TEXT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  claimed_until BIGINT NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'pending',
  reason TEXT,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE state = 'pending';
CREATE INDEX outbox_open ON outbox (org, conversation, seq) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_sending ON outbox (claimed_until) WHERE state = 'sending';

-- `xid` orders what is committed; on SQLite there is one writer and it is 0.
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  xid BIGINT NOT NULL DEFAULT 0,
  org BLOB NOT NULL,
  session BLOB,
  kind TEXT NOT NULL,
  data TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX events_of ON events (org, id);
