-- Workflows are claimed fairly among orgs: the due ones are found by org, and the running
-- ones of an org are counted.
DROP INDEX workflows_due;
CREATE INDEX workflows_due ON workflows (org, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX workflows_leased ON workflows (org, lease_until) WHERE lease_until > 0;
