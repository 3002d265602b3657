-- Where a turn stands that reaches outside, one row for each conversation, and
-- the journal of its calls: an intent is written before, an outcome after.
-- `state` of a call is intended, done or unknown.

CREATE TABLE checkpoints (
  org BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  run BYTEA NOT NULL,
  version BIGINT NOT NULL,
  state TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, conversation)
);

CREATE TABLE journal (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  run BYTEA NOT NULL,
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
);
CREATE INDEX journal_of ON journal (org, run, id);
CREATE INDEX journal_open ON journal (org, conversation, id) WHERE state IN ('intended', 'unknown');
CREATE INDEX journal_unknown ON journal (org, id) WHERE state = 'unknown';

-- Whatever ends a turn deletes its checkpoint, and no intent is left behind
-- that nobody would ever look at.
CREATE FUNCTION checkpoint_is_over() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  UPDATE journal SET state = 'unknown', settled_at = now_ms(),
    reason = 'the turn ended before the outcome was known'
  WHERE org = OLD.org AND conversation = OLD.conversation
    AND state IN ('intended', 'unknown') AND state = 'intended' AND run = OLD.run;
  RETURN OLD;
END $$;
CREATE TRIGGER checkpoint_is_over AFTER DELETE ON checkpoints
  FOR EACH ROW EXECUTE FUNCTION checkpoint_is_over();
