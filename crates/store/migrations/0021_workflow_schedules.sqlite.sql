-- Workflow definitions that orgs keep, and schedules that start them. Both are a part of the
-- configuration of their org.
CREATE TABLE workflow_definitions (
  org BLOB NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
) WITHOUT ROWID;

-- Due times up to `decided_until` are decided. `check_at` is when a worker has to look at the
-- schedule; NULL if it is paused or has no further due time.
CREATE TABLE workflow_schedules (
  org BLOB NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  decided_until BIGINT NOT NULL,
  check_at BIGINT,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
) WITHOUT ROWID;
CREATE INDEX workflow_schedules_due ON workflow_schedules (check_at) WHERE check_at IS NOT NULL;

-- What happened at a due time of a schedule: once for each. `workflow` is what was started.
CREATE TABLE workflow_starts (
  org BLOB NOT NULL,
  schedule TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  outcome TEXT NOT NULL,
  workflow BLOB,
  missed BIGINT NOT NULL,
  reason TEXT,
  decided_at BIGINT NOT NULL,
  PRIMARY KEY (org, schedule, due_at),
  FOREIGN KEY (org, schedule) REFERENCES workflow_schedules (org, name) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TRIGGER config_workflow_definitions_added AFTER INSERT ON workflow_definitions
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_workflow_definitions_changed AFTER UPDATE ON workflow_definitions
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_workflow_definitions_removed AFTER DELETE ON workflow_definitions
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = OLD.org;
END;
CREATE TRIGGER config_workflow_schedules_added AFTER INSERT ON workflow_schedules
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_workflow_schedules_changed AFTER UPDATE OF data ON workflow_schedules
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_workflow_schedules_removed AFTER DELETE ON workflow_schedules
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = OLD.org;
END;
