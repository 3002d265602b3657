-- Workflow definitions that orgs keep, and schedules that start them. Both are a part of the
-- configuration of their org.
CREATE TABLE workflow_definitions (
  org BYTEA NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
);

-- Due times up to `decided_until` are decided. `check_at` is when a worker has to look at the
-- schedule; NULL if it is paused or has no further due time.
CREATE TABLE workflow_schedules (
  org BYTEA NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  decided_until BIGINT NOT NULL,
  check_at BIGINT,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
);
CREATE INDEX workflow_schedules_due ON workflow_schedules (check_at) WHERE check_at IS NOT NULL;

-- What happened at a due time of a schedule: once for each. `workflow` is what was started.
CREATE TABLE workflow_starts (
  org BYTEA NOT NULL,
  schedule TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  outcome TEXT NOT NULL,
  workflow BYTEA,
  missed BIGINT NOT NULL,
  reason TEXT,
  decided_at BIGINT NOT NULL,
  PRIMARY KEY (org, schedule, due_at),
  FOREIGN KEY (org, schedule) REFERENCES workflow_schedules (org, name) ON DELETE CASCADE
);

CREATE CONSTRAINT TRIGGER config_workflow_definitions
  AFTER INSERT OR UPDATE OR DELETE ON workflow_definitions
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION org_tool_row_changed();
CREATE CONSTRAINT TRIGGER config_workflow_schedules
  AFTER INSERT OR UPDATE OF data OR DELETE ON workflow_schedules
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION org_tool_row_changed();
