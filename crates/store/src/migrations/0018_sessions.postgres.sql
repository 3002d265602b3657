-- When a session is to be looked at again: to be closed, or somebody reminded.
ALTER TABLE sessions ADD COLUMN due_at BIGINT;
CREATE INDEX sessions_due ON sessions (due_at, org, id) WHERE due_at IS NOT NULL;
-- The sessions in which a person answers, or is asked to.
CREATE INDEX sessions_handed_off ON sessions (org, id) WHERE status = 'handed_off';

-- A number that grows whenever anything that agents are configured by changes,
-- so that whoever remembers it knows when to look again.
CREATE TABLE config_stamp (one BIGINT PRIMARY KEY NOT NULL, stamp BIGINT NOT NULL);
INSERT INTO config_stamp (one, stamp) VALUES (1, 1);

-- At the end of the transaction, so that the one row is held for a moment only.
CREATE FUNCTION config_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  UPDATE config_stamp SET stamp = stamp + 1;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER config_orgs AFTER INSERT OR UPDATE ON orgs
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_agents AFTER INSERT OR UPDATE ON agents
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_soul_versions AFTER INSERT OR UPDATE ON soul_versions
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_tool_policies AFTER INSERT OR UPDATE ON tool_policies
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_integrations AFTER INSERT OR UPDATE ON integrations
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_bindings AFTER INSERT OR UPDATE ON bindings
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_settings AFTER INSERT OR UPDATE ON records
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'settings')
  EXECUTE FUNCTION config_changed();
