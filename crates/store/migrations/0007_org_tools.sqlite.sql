-- HTTP tools and MCP servers that orgs have defined, a part of their configuration.
-- Secrets in them are references.

CREATE TABLE org_tools (
  org BLOB NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, kind, name)
) WITHOUT ROWID;

CREATE TRIGGER config_org_tools_added AFTER INSERT ON org_tools
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_org_tools_changed AFTER UPDATE ON org_tools
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = NEW.org;
END;
CREATE TRIGGER config_org_tools_removed AFTER DELETE ON org_tools
BEGIN
  UPDATE config_versions SET config = config + 1, documents = documents + 1 WHERE id = OLD.org;
END;
