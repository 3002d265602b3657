-- Messages of subagents of a thread, under their own run. `path` is a JSON array of the
-- calls that lead to the subagent, `messages` a JSON array.
CREATE TABLE harness_subagent_runs (
  org BLOB NOT NULL,
  run BLOB NOT NULL,
  thread BLOB NOT NULL,
  turn BLOB NOT NULL,
  path TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  messages TEXT NOT NULL,
  ended_at BIGINT NOT NULL,
  PRIMARY KEY (org, run)
) WITHOUT ROWID;
CREATE INDEX harness_subagent_runs_by_thread ON harness_subagent_runs (org, thread, run);
