-- Orgs and what they own. Ids are 16 bytes, times are milliseconds since 1970
-- in UTC, structured values are JSON texts.

CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE
  AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE orgs (
  id BYTEA PRIMARY KEY NOT NULL,
  slug TEXT NOT NULL UNIQUE,
  data TEXT NOT NULL
);

CREATE TABLE agents (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  slug TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id),
  UNIQUE (org, slug)
);

CREATE TABLE soul_versions (
  org BYTEA NOT NULL REFERENCES orgs (id),
  owner BYTEA NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, owner, version)
);

-- A conversation and its lease. `pending_at` is from when on it can be claimed:
-- nothing when no message waits, the end of the lease while a worker has it.
-- `in_seq` and `out_seq` number its messages in the order they were accepted
-- and committed, whatever the clocks of the nodes say.
CREATE TABLE conversations (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  key TEXT NOT NULL,
  epoch BIGINT NOT NULL DEFAULT 0,
  in_seq BIGINT NOT NULL DEFAULT 0,
  out_seq BIGINT NOT NULL DEFAULT 0,
  pending_at BIGINT,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org, id),
  UNIQUE (org, key)
);
CREATE INDEX conversations_pending ON conversations (org, pending_at) WHERE pending_at IS NOT NULL;
CREATE INDEX conversations_leased ON conversations (org, lease_until) WHERE lease_until > 0;

-- The tables of every message and turn refer to orgs without a foreign key: the
-- conversation has one, and a check for each row would cost more than it gives.
CREATE TABLE inbox (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  seq BIGINT NOT NULL,
  binding BYTEA NOT NULL,
  provider_id TEXT NOT NULL,
  payload TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  reason TEXT,
  PRIMARY KEY (org, id),
  UNIQUE (org, binding, provider_id)
);
CREATE INDEX inbox_pending ON inbox (org, conversation, seq) WHERE state = 'pending';

CREATE TABLE sessions (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  thread BYTEA NOT NULL,
  status TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX sessions_of ON sessions (org, conversation, id);

CREATE TABLE messages (
  org BYTEA NOT NULL,
  thread BYTEA NOT NULL,
  seq BIGINT NOT NULL,
  id BYTEA NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, thread, seq)
);

CREATE TABLE runs (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  session BYTEA NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX runs_of ON runs (org, session, id);

CREATE TABLE outbox (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
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
);
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE state = 'pending';
CREATE INDEX outbox_open ON outbox (org, conversation, seq) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_sending ON outbox (claimed_until) WHERE state = 'sending';

-- `xid` orders what is committed: a reader trusts those below the oldest
-- transaction that is still running, so that commits need not wait in line.
CREATE TABLE events (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  xid BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
  org BYTEA NOT NULL,
  session BYTEA,
  kind TEXT NOT NULL,
  data TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX events_of ON events (org, xid, id);
