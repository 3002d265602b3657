-- What the harness of a run has in common with those of other runs: one row for each content,
-- found by its hash. The data of a run that names one lacks it; older runs name none. Like the
-- versions of agents that it is made of, it is never changed, and it has nothing of customers.
CREATE TABLE agent_harnesses (
  org BYTEA NOT NULL,
  hash BYTEA NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, hash)
);

ALTER TABLE runs ADD COLUMN harness BYTEA;
