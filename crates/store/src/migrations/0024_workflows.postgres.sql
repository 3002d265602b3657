-- Workflows that were started. `definition` is what it was then; `state` is how
-- far it is, and `status` the same in a word. Whoever has one proves it by
-- `lease_token`. `due_at` is when somebody is to look at it; none means that
-- nobody need. `heard` counts what was said to it: whoever lets go of it names
-- the count that they know, so that nothing is overheard. `tries` counts how often
-- it was taken up since it last came on.
CREATE TABLE workflows (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  definition TEXT NOT NULL,
  input TEXT NOT NULL,
  state TEXT NOT NULL,
  spent BIGINT NOT NULL DEFAULT 0,
  cancelled BIGINT NOT NULL DEFAULT 0,
  heard BIGINT NOT NULL DEFAULT 0,
  tries BIGINT NOT NULL DEFAULT 0,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX workflows_due ON workflows (due_at) WHERE due_at IS NOT NULL;

-- What belongs to a workflow goes with it.

-- What is done for their steps: what it came to, the turn that was begun, and the
-- record of it.
CREATE TABLE workflow_tasks (
  org BYTEA NOT NULL,
  workflow BYTEA NOT NULL,
  task TEXT NOT NULL,
  result TEXT,
  saved TEXT,
  record TEXT,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, workflow, task),
  FOREIGN KEY (org, workflow) REFERENCES workflows (org, id) ON DELETE CASCADE
);

-- What people answered, and events that reached their step. A question is
-- answered once; `taken` is 1 once the step has gone on with the answer.
CREATE TABLE workflow_answers (
  org BYTEA NOT NULL,
  workflow BYTEA NOT NULL,
  task TEXT NOT NULL,
  question TEXT NOT NULL,
  data TEXT NOT NULL,
  taken BIGINT NOT NULL DEFAULT 0,
  answered_at BIGINT NOT NULL,
  PRIMARY KEY (org, workflow, task, question),
  FOREIGN KEY (org, workflow) REFERENCES workflows (org, id) ON DELETE CASCADE
);

-- Steps that wait for an event.
CREATE TABLE workflow_waits (
  org BYTEA NOT NULL,
  workflow BYTEA NOT NULL,
  task TEXT NOT NULL,
  event TEXT NOT NULL,
  question TEXT NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (org, workflow, task),
  FOREIGN KEY (org, workflow) REFERENCES workflows (org, id) ON DELETE CASCADE
);
CREATE INDEX workflow_waits_for ON workflow_waits (org, event, since);

-- Events that were published. One without a workflow is kept until a step waits
-- for it.
CREATE TABLE workflow_events (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  name TEXT NOT NULL,
  payload TEXT NOT NULL,
  workflow BYTEA,
  task TEXT,
  published_at BIGINT NOT NULL,
  PRIMARY KEY (org, id),
  FOREIGN KEY (org, workflow) REFERENCES workflows (org, id) ON DELETE CASCADE
);
CREATE INDEX workflow_events_kept ON workflow_events (org, name, published_at, id)
  WHERE workflow IS NULL;
CREATE INDEX workflow_events_of ON workflow_events (org, workflow) WHERE workflow IS NOT NULL;
