-- The versions of the configuration, for each org instead of for all together: a
-- cache that remembers them knows when to read again. The row with an id of zeros
-- is for what other orgs read too: the org rows themselves, and the policy and the
-- agents of the platform. `documents` also grows with every change of a document.

DROP TRIGGER config_orgs_added;
DROP TRIGGER config_orgs_changed;
DROP TRIGGER config_agents_added;
DROP TRIGGER config_agents_changed;
DROP TRIGGER config_soul_versions_added;
DROP TRIGGER config_soul_versions_changed;
DROP TRIGGER config_tool_policies_added;
DROP TRIGGER config_tool_policies_changed;
DROP TRIGGER config_integrations_added;
DROP TRIGGER config_integrations_changed;
DROP TRIGGER config_bindings_added;
DROP TRIGGER config_bindings_changed;
DROP TRIGGER config_settings_added;
DROP TRIGGER config_settings_changed;
DROP TRIGGER documents_added;
DROP TRIGGER documents_changed;
DROP TRIGGER documents_removed;
DROP TABLE change_counters;

CREATE TABLE config_versions (
  id BLOB PRIMARY KEY NOT NULL,
  config BIGINT NOT NULL DEFAULT 1,
  documents BIGINT NOT NULL DEFAULT 1
) WITHOUT ROWID;
INSERT INTO config_versions (id) VALUES (zeroblob(16));
INSERT INTO config_versions (id) SELECT id FROM orgs;

CREATE INDEX orgs_platform ON orgs (id) WHERE instr(data, '"place":"platform"') > 0;

CREATE TRIGGER config_orgs_added AFTER INSERT ON orgs
BEGIN INSERT INTO config_versions (id) VALUES (NEW.id); END;
CREATE TRIGGER config_orgs_changed AFTER UPDATE ON orgs
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1
  WHERE id IN (NEW.id, zeroblob(16));
END;
CREATE TRIGGER config_agents_added AFTER INSERT ON agents
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1
  WHERE id = NEW.org OR id = (SELECT zeroblob(16) FROM orgs
                              WHERE orgs.id = NEW.org AND instr(data, '"place":"platform"') > 0);
END;
CREATE TRIGGER config_agents_changed AFTER UPDATE ON agents
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1
  WHERE id = NEW.org OR id = (SELECT zeroblob(16) FROM orgs
                              WHERE orgs.id = NEW.org AND instr(data, '"place":"platform"') > 0);
END;
CREATE TRIGGER config_soul_versions_added AFTER INSERT ON soul_versions
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1
  WHERE id = NEW.org OR id = (SELECT zeroblob(16) FROM orgs
                              WHERE orgs.id = NEW.org AND instr(data, '"place":"platform"') > 0);
END;
CREATE TRIGGER config_soul_versions_changed AFTER UPDATE ON soul_versions
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1
  WHERE id = NEW.org OR id = (SELECT zeroblob(16) FROM orgs
                              WHERE orgs.id = NEW.org AND instr(data, '"place":"platform"') > 0);
END;
CREATE TRIGGER config_tool_policies_added AFTER INSERT ON tool_policies
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1
  WHERE id = CASE NEW.policy_layer WHEN 'platform' THEN zeroblob(16) ELSE NEW.org END;
END;
CREATE TRIGGER config_tool_policies_changed AFTER UPDATE ON tool_policies
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1
  WHERE id = CASE NEW.policy_layer WHEN 'platform' THEN zeroblob(16) ELSE NEW.org END;
END;
CREATE TRIGGER config_integrations_added AFTER INSERT ON integrations
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_integrations_changed AFTER UPDATE ON integrations
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_bindings_added AFTER INSERT ON bindings
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_bindings_changed AFTER UPDATE ON bindings
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_settings_added AFTER INSERT ON records WHEN NEW.kind = 'settings'
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_settings_changed AFTER UPDATE ON records WHEN NEW.kind = 'settings'
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER documents_added AFTER INSERT ON documents
BEGIN UPDATE config_versions SET documents = documents + 1 WHERE id = NEW.org; END;
CREATE TRIGGER documents_changed AFTER UPDATE ON documents
BEGIN UPDATE config_versions SET documents = documents + 1 WHERE id = NEW.org; END;
CREATE TRIGGER documents_removed AFTER DELETE ON documents
BEGIN UPDATE config_versions SET documents = documents + 1 WHERE id = OLD.org; END;
