-- A message that was answered is found by the run that did. Those that were
-- answered before, and those that nobody answered, are found by their
-- conversation.
ALTER TABLE inbox ADD COLUMN run BYTEA;
DROP INDEX inbox_of;
CREATE INDEX inbox_of ON inbox (org, conversation, id) WHERE state <> 'pending' AND run IS NULL;
CREATE INDEX inbox_in ON inbox (org, run) WHERE run IS NOT NULL;
