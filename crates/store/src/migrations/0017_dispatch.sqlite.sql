-- Agents on queues: who there is, the work that was given to them, their teams.

-- `load` and `availability` are what the node said last that runs the agent.
CREATE TABLE queue_agents (
  org BLOB NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  hosting TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  availability TEXT NOT NULL,
  at_once BIGINT NOT NULL,
  load BIGINT NOT NULL,
  node TEXT,
  config TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
) WITHOUT ROWID;
CREATE INDEX queue_agents_on ON queue_agents (org, node, name) WHERE node IS NOT NULL;

-- Finds agents by what they can do.
CREATE TABLE queue_capabilities (
  org BLOB NOT NULL,
  capability TEXT NOT NULL,
  agent TEXT NOT NULL,
  PRIMARY KEY (org, capability, agent)
) WITHOUT ROWID;
CREATE INDEX queue_capabilities_of ON queue_capabilities (org, agent, capability);

-- `data` is all of it; the columns beside it are searched.
CREATE TABLE queue_delegations (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  assignee TEXT NOT NULL,
  status TEXT NOT NULL,
  due_at BIGINT,
  data TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX queue_delegations_of ON queue_delegations (org, assignee, id);
CREATE INDEX queue_delegations_open ON queue_delegations (org, id) WHERE status <> 'complete';
CREATE INDEX queue_delegations_due ON queue_delegations (org, due_at, id)
  WHERE status <> 'complete' AND due_at IS NOT NULL;

-- What waits for what; `open` is 1 until the blocker is finished.
CREATE TABLE queue_blockers (
  org BLOB NOT NULL,
  task BLOB NOT NULL,
  blocker BLOB NOT NULL,
  open BIGINT NOT NULL,
  PRIMARY KEY (org, task, blocker)
) WITHOUT ROWID;
CREATE INDEX queue_blockers_of ON queue_blockers (org, blocker, task);
CREATE INDEX queue_blockers_open ON queue_blockers (org, task) WHERE open = 1;

CREATE TABLE queue_teams (
  org BLOB NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  data TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
) WITHOUT ROWID;

CREATE TABLE queue_team_members (
  org BLOB NOT NULL,
  agent TEXT NOT NULL,
  team TEXT NOT NULL,
  PRIMARY KEY (org, agent, team)
) WITHOUT ROWID;
CREATE INDEX queue_team_members_of ON queue_team_members (org, team, agent);
