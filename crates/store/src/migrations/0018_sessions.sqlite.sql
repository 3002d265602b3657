-- When a session is to be looked at again: to be closed, or somebody reminded.
ALTER TABLE sessions ADD COLUMN due_at BIGINT;
CREATE INDEX sessions_due ON sessions (due_at, org, id) WHERE due_at IS NOT NULL;
-- The sessions in which a person answers, or is asked to.
CREATE INDEX sessions_handed_off ON sessions (org, id) WHERE status = 'handed_off';

-- A number that grows whenever anything that agents are configured by changes,
-- so that whoever remembers it knows when to look again.
CREATE TABLE config_stamp (one BIGINT PRIMARY KEY NOT NULL, stamp BIGINT NOT NULL);
INSERT INTO config_stamp (one, stamp) VALUES (1, 1);

CREATE TRIGGER config_orgs_added AFTER INSERT ON orgs
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_orgs_changed AFTER UPDATE ON orgs
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_agents_added AFTER INSERT ON agents
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_agents_changed AFTER UPDATE ON agents
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_soul_versions_added AFTER INSERT ON soul_versions
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_soul_versions_changed AFTER UPDATE ON soul_versions
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_tool_policies_added AFTER INSERT ON tool_policies
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_tool_policies_changed AFTER UPDATE ON tool_policies
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_integrations_added AFTER INSERT ON integrations
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_integrations_changed AFTER UPDATE ON integrations
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_bindings_added AFTER INSERT ON bindings
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_bindings_changed AFTER UPDATE ON bindings
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_settings_added AFTER INSERT ON records WHEN NEW.kind = 'settings'
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
CREATE TRIGGER config_settings_changed AFTER UPDATE ON records WHEN NEW.kind = 'settings'
BEGIN UPDATE config_stamp SET stamp = stamp + 1; END;
