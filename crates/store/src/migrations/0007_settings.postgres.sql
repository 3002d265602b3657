-- What orgs set: policies, versions of agents, connections.

-- Versions are only added. The platform's policy lives in the platform's org,
-- and there is one line of its versions, whatever the orgs say.
CREATE TABLE tool_policies (
  org BYTEA NOT NULL REFERENCES orgs (id),
  policy_layer TEXT NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, policy_layer, version)
);
CREATE UNIQUE INDEX tool_policies_platform ON tool_policies (version)
  WHERE policy_layer = 'platform';

-- What an agent was, so that a run can say which one it ran with. The agents
-- that are there already begin with version 1.
ALTER TABLE agents ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
CREATE TABLE agent_versions (
  org BYTEA NOT NULL REFERENCES orgs (id),
  agent BYTEA NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, agent, version)
);
INSERT INTO agent_versions (org, agent, version, data, saved_at)
  SELECT org, id, version, data, now_ms() FROM agents;

-- Connections to other services. `secret` says where their secret is kept.
CREATE TABLE integrations (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  service TEXT NOT NULL,
  status TEXT NOT NULL,
  settings TEXT NOT NULL,
  secret TEXT,
  PRIMARY KEY (org, id),
  UNIQUE (org, service)
);

-- A webhook knows only the binding's id, so that it is unique among all orgs.
CREATE TABLE bindings (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL UNIQUE,
  agent BYTEA NOT NULL,
  data TEXT NOT NULL,
  settings TEXT NOT NULL,
  secret TEXT,
  PRIMARY KEY (org, id)
);
