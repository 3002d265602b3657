-- HTTP tools and MCP servers that orgs have defined, a part of their configuration.
-- Secrets in them are references.

CREATE TABLE org_tools (
  org BYTEA NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, kind, name)
);

CREATE FUNCTION org_tool_row_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM grow_config_version(CASE TG_OP WHEN 'DELETE' THEN OLD.org ELSE NEW.org END);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER config_org_tools AFTER INSERT OR UPDATE OR DELETE ON org_tools
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION org_tool_row_changed();
