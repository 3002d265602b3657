-- Where a turn stands that reaches outside, one row for each conversation, and
-- the journal of its calls: an intent is written before, an outcome after.
-- `state` of a call is intended, done or unknown.

CREATE TABLE checkpoints (
  org BLOB NOT NULL,
  conversation BLOB NOT NULL,
  run BLOB NOT NULL,
  version BIGINT NOT NULL,
  state TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, conversation)
) WITHOUT ROWID;

CREATE TABLE journal (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  conversation BLOB NOT NULL,
  run BLOB NOT NULL,
  tool TEXT NOT NULL,
  key TEXT NOT NULL,
  arguments TEXT NOT NULL,
  idempotent BIGINT NOT NULL,
  state TEXT NOT NULL DEFAULT 'intended',
  outcome TEXT,
  reason TEXT,
  intended_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX journal_of ON journal (org, run, id);
CREATE INDEX journal_open ON journal (org, conversation, id) WHERE state IN ('intended', 'unknown');
CREATE INDEX journal_unknown ON journal (org, id) WHERE state = 'unknown';

-- Whatever ends a turn deletes its checkpoint, and no intent is left behind
-- that nobody would ever look at.
CREATE TRIGGER checkpoint_is_over AFTER DELETE ON checkpoints
BEGIN
  UPDATE journal SET state = 'unknown', settled_at = CAST(unixepoch('subsec') * 1000 AS INTEGER),
    reason = 'the turn ended before the outcome was known'
  WHERE org = OLD.org AND id IN (
    SELECT j.id FROM journal j INDEXED BY journal_open
    WHERE j.org = OLD.org AND j.conversation = OLD.conversation
      AND j.state IN ('intended', 'unknown') AND j.state = 'intended' AND j.run = OLD.run);
END;
