-- The versions of the configuration, for each org instead of for all together: a
-- cache that remembers them knows when to read again. The row with an id of zeros
-- is for what other orgs read too: the org rows themselves, and the policy and the
-- agents of the platform. `documents` also grows with every change of a document.
-- There is no row-level security: every org reads two rows, and they only count.

DROP TRIGGER config_orgs ON orgs;
DROP TRIGGER config_agents ON agents;
DROP TRIGGER config_soul_versions ON soul_versions;
DROP TRIGGER config_tool_policies ON tool_policies;
DROP TRIGGER config_integrations ON integrations;
DROP TRIGGER config_bindings ON bindings;
DROP TRIGGER config_settings ON records;
DROP TRIGGER documents_changed ON documents;
DROP FUNCTION config_changed();
DROP FUNCTION documents_changed();
DROP TABLE change_counters;

CREATE TABLE config_versions (
  id BYTEA PRIMARY KEY NOT NULL,
  config BIGINT NOT NULL DEFAULT 1,
  documents BIGINT NOT NULL DEFAULT 1
);
INSERT INTO config_versions (id) VALUES (decode(repeat('00', 16), 'hex'));
INSERT INTO config_versions (id) SELECT id FROM orgs;

CREATE INDEX orgs_platform ON orgs (id) WHERE strpos(data, '"place":"platform"') > 0;

CREATE FUNCTION grow_config_version(org BYTEA) RETURNS VOID LANGUAGE sql AS $$
  INSERT INTO config_versions (id) VALUES (org)
  ON CONFLICT (id) DO UPDATE SET config = config_versions.config + 1,
    documents = config_versions.documents + 1
$$;

-- The triggers run at the end of the transaction, so that the rows are locked
-- only briefly.
CREATE FUNCTION org_row_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM grow_config_version(NEW.id);
  IF TG_OP = 'UPDATE' THEN
    PERFORM grow_config_version(decode(repeat('00', 16), 'hex'));
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION agent_row_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM grow_config_version(NEW.org);
  IF EXISTS (SELECT 1 FROM orgs
             WHERE id = NEW.org AND strpos(data, '"place":"platform"') > 0) THEN
    PERFORM grow_config_version(decode(repeat('00', 16), 'hex'));
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION policy_row_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM grow_config_version(
    CASE NEW.policy_layer WHEN 'platform' THEN decode(repeat('00', 16), 'hex') ELSE NEW.org END);
  RETURN NULL;
END $$;
CREATE FUNCTION config_row_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM grow_config_version(NEW.org);
  RETURN NULL;
END $$;
CREATE FUNCTION document_row_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  UPDATE config_versions SET documents = documents + 1
  WHERE id = CASE TG_OP WHEN 'DELETE' THEN OLD.org ELSE NEW.org END;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER config_orgs AFTER INSERT OR UPDATE ON orgs
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION org_row_changed();
CREATE CONSTRAINT TRIGGER config_agents AFTER INSERT OR UPDATE ON agents
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION agent_row_changed();
CREATE CONSTRAINT TRIGGER config_soul_versions AFTER INSERT OR UPDATE ON soul_versions
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION agent_row_changed();
CREATE CONSTRAINT TRIGGER config_tool_policies AFTER INSERT OR UPDATE ON tool_policies
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION policy_row_changed();
CREATE CONSTRAINT TRIGGER config_integrations AFTER INSERT OR UPDATE ON integrations
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_row_changed();
CREATE CONSTRAINT TRIGGER config_bindings AFTER INSERT OR UPDATE ON bindings
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_row_changed();
CREATE CONSTRAINT TRIGGER config_settings AFTER INSERT OR UPDATE ON records
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'settings')
  EXECUTE FUNCTION config_row_changed();
CREATE CONSTRAINT TRIGGER documents_changed AFTER INSERT OR UPDATE OR DELETE ON documents
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION document_row_changed();
