-- Observational memory of threads. `progress` and `settings` are JSON; `status` is the
-- last `data-om-status` part. `revision` grows with each change, so that a process that
-- has lost the thread cannot write it. Messages up to `indexed_to` are in `memory_words`.
CREATE TABLE thread_memory (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  revision BIGINT NOT NULL,
  progress TEXT NOT NULL,
  settings TEXT,
  status TEXT,
  indexed_to BIGINT NOT NULL,
  PRIMARY KEY (org, thread)
) WITHOUT ROWID;

-- The messages of a thread as text. Condensing deletes none of them.
CREATE TABLE memory_messages (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  seq BIGINT NOT NULL,
  speaker TEXT NOT NULL,
  origin TEXT NOT NULL,
  trust TEXT NOT NULL,
  continues BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (org, thread, seq)
) WITHOUT ROWID;

-- The words of messages, for the same search on both databases.
CREATE TABLE memory_words (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  word TEXT NOT NULL,
  weight BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (org, thread, word, weight, seq)
) WITHOUT ROWID;

-- `state` is `buffered`, `active`, `superseded` or `retired`; `valid_from` and
-- `valid_until` are days since 1970.
CREATE TABLE memory_observations (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  id BIGINT NOT NULL,
  generation BIGINT NOT NULL,
  state TEXT NOT NULL,
  speaker TEXT NOT NULL,
  kind TEXT NOT NULL,
  completion TEXT,
  first_seq BIGINT NOT NULL,
  last_seq BIGINT NOT NULL,
  valid_from BIGINT,
  valid_until BIGINT,
  supersedes TEXT NOT NULL,
  superseded_by BIGINT,
  trust TEXT NOT NULL,
  tokens BIGINT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (org, thread, id)
) WITHOUT ROWID;
CREATE INDEX memory_observations_in_use ON memory_observations (org, thread, id)
  WHERE state IN ('buffered', 'active');

-- What the observer and the reflector used. `cost` is in millionths of a dollar.
CREATE TABLE memory_calls (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  task BIGINT NOT NULL,
  purpose TEXT NOT NULL,
  model TEXT NOT NULL,
  at BIGINT NOT NULL,
  input BIGINT NOT NULL,
  output BIGINT NOT NULL,
  cached BIGINT NOT NULL,
  written BIGINT NOT NULL,
  cost BIGINT NOT NULL,
  charged BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org, thread, task)
) WITHOUT ROWID;
CREATE INDEX memory_calls_uncharged ON memory_calls (org, thread, task) WHERE charged = 0;
