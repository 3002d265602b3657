-- A message that was answered is found by the run that did. Runs are written in
-- the order of their ids, so that the index grows at its end; in the order of
-- conversations every answer changed another page of it. Those that were answered
-- before, and those that nobody answered, stay where they are found by their
-- conversation.
ALTER TABLE inbox ADD COLUMN run BLOB;
DROP INDEX inbox_of;
CREATE INDEX inbox_of ON inbox (org, conversation, id) WHERE state <> 'pending' AND run IS NULL;
CREATE INDEX inbox_in ON inbox (org, run) WHERE run IS NOT NULL;

-- Runs are too long for pages that are ordered by their ids, where most of each
-- would lie on a page of its own.
ALTER TABLE runs RENAME TO runs_before;
DROP INDEX runs_of;
CREATE TABLE runs (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  session BLOB NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id)
);
INSERT INTO runs (org, id, session, data)
  SELECT org, id, session, data FROM runs_before ORDER BY org, id;
DROP TABLE runs_before;
CREATE INDEX runs_of ON runs (org, session, id);
