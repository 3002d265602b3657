-- Workflows that a step of another workflow has started. The end of the child answers a
-- question of the step. `ancestors` has the names of all workflows above, as JSON;
-- `untrusted` is 1 if the input holds untrusted content.
ALTER TABLE workflows ADD COLUMN parent BYTEA;
ALTER TABLE workflows ADD COLUMN parent_task TEXT;
ALTER TABLE workflows ADD COLUMN parent_question TEXT;
ALTER TABLE workflows ADD COLUMN ancestors TEXT NOT NULL DEFAULT '[]';
ALTER TABLE workflows ADD COLUMN untrusted BIGINT NOT NULL DEFAULT 0;
CREATE INDEX workflows_by_parent ON workflows (org, parent) WHERE parent IS NOT NULL;
