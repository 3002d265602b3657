-- Threads of interactive harnesses: their messages, what an unfinished turn needs to be
-- continued, and their events. The lease belongs to the process that works on a thread.
CREATE TABLE harness_threads (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  resource TEXT NOT NULL,
  title TEXT,
  parent BLOB,
  metadata TEXT NOT NULL,
  follow_ups TEXT NOT NULL DEFAULT '[]',
  message_count BIGINT NOT NULL DEFAULT 0,
  lease_holder TEXT,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX harness_threads_by_resource ON harness_threads (org, resource, updated_at);

-- The messages of a thread, numbered from 1.
CREATE TABLE harness_messages (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  seq BIGINT NOT NULL,
  turn BLOB NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (org, thread, seq)
) WITHOUT ROWID;

-- What the unfinished turn of a thread has done: its state, outcomes of external calls,
-- and answers of people. Deleted when the turn ends.
CREATE TABLE harness_journal (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  seq BIGINT NOT NULL,
  turn BLOB NOT NULL,
  kind TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, thread, seq)
) WITHOUT ROWID;

-- The durable events of a thread; a row holds those of one commit.
CREATE TABLE harness_events (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  last_id BIGINT NOT NULL,
  events TEXT NOT NULL,
  PRIMARY KEY (org, thread, last_id)
) WITHOUT ROWID;

-- Settings that a harness keeps for a user, such as permission rules.
CREATE TABLE harness_settings (
  org BLOB NOT NULL,
  resource TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (org, resource, name)
) WITHOUT ROWID;
