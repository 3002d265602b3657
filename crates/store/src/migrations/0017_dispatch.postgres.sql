-- Agents on queues: who there is, the work that was given to them, their teams.
-- Names are listed in the order of their bytes.

-- `availability`, until when that holds, and `load` are what was last heard.
CREATE TABLE queue_agents (
  org BYTEA NOT NULL REFERENCES orgs (id),
  name TEXT COLLATE "C" NOT NULL,
  agent_type TEXT NOT NULL,
  placement TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  availability TEXT NOT NULL,
  available_until BIGINT,
  at_once BIGINT NOT NULL,
  load BIGINT NOT NULL,
  config TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
);

-- Finds agents by what they can do.
CREATE TABLE queue_capabilities (
  org BYTEA NOT NULL,
  capability TEXT COLLATE "C" NOT NULL,
  agent TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (org, capability, agent)
);
CREATE INDEX queue_capabilities_of ON queue_capabilities (org, agent, capability);

-- `data` is all of it; the columns beside it are searched. `watch` is how far the
-- watch over its deadline has come, while one is kept, and `tried_at` the last
-- that came of it.
CREATE TABLE queue_delegations (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  assignee TEXT COLLATE "C" NOT NULL,
  status TEXT NOT NULL,
  due_at BIGINT,
  data TEXT NOT NULL,
  watch TEXT,
  tried_at BIGINT,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX queue_delegations_of ON queue_delegations (org, assignee, id);
CREATE INDEX queue_delegations_open ON queue_delegations (org, id) WHERE status <> 'complete';
CREATE INDEX queue_delegations_due ON queue_delegations (org, due_at, id)
  WHERE status <> 'complete' AND due_at IS NOT NULL;
CREATE INDEX queue_delegations_late ON queue_delegations (org, due_at, id)
  WHERE watch IS NOT NULL AND tried_at IS NULL;
CREATE INDEX queue_delegations_tried ON queue_delegations (org, tried_at, id)
  WHERE watch IS NOT NULL;

-- What waits for what; `open` is 1 until the blocker is finished.
CREATE TABLE queue_blockers (
  org BYTEA NOT NULL,
  task BYTEA NOT NULL,
  blocker BYTEA NOT NULL,
  open BIGINT NOT NULL,
  PRIMARY KEY (org, task, blocker)
);
CREATE INDEX queue_blockers_of ON queue_blockers (org, blocker, task);
CREATE INDEX queue_blockers_open ON queue_blockers (org, task) WHERE open = 1;

CREATE TABLE queue_teams (
  org BYTEA NOT NULL REFERENCES orgs (id),
  name TEXT COLLATE "C" NOT NULL,
  status TEXT NOT NULL,
  data TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
);

CREATE TABLE queue_team_members (
  org BYTEA NOT NULL,
  agent TEXT COLLATE "C" NOT NULL,
  team TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (org, agent, team)
);
CREATE INDEX queue_team_members_of ON queue_team_members (org, team, agent);

-- Messages that an agent has been given and that wait: for the approval of a
-- plan, for a person. `version` counts the changes of a row.
CREATE TABLE queue_held (
  org BYTEA NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  agent TEXT COLLATE "C" NOT NULL,
  message BYTEA NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, kind, agent, message)
);
