-- Credits. An account is the pools of an org as JSON, `shared` what it has paid
-- for its children and `sharing` its caps on that. A transaction that changes
-- an account holds its row, and a turn's commit does not: it only writes its
-- charges to its own reservation, and they are applied later.

CREATE TABLE credit_accounts (
  org BYTEA PRIMARY KEY NOT NULL REFERENCES orgs (id),
  account TEXT NOT NULL,
  shared TEXT NOT NULL,
  sharing TEXT NOT NULL
);
INSERT INTO credit_accounts (org, account, shared, sharing) SELECT id, '', '', '' FROM orgs;

CREATE TABLE reservations (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  expires_at BIGINT NOT NULL,
  data TEXT NOT NULL,
  charges TEXT,
  settled_at BIGINT,
  PRIMARY KEY (org, id)
);
CREATE INDEX reservations_settled ON reservations (org, settled_at) WHERE charges IS NOT NULL;
CREATE INDEX reservations_open ON reservations (expires_at) WHERE charges IS NULL;

-- Every grant and every expense. `moved` is what the line took from the org's
-- credits; lines of what others paid move none.
CREATE TABLE ledger_lines (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  org BYTEA NOT NULL,
  agent BYTEA,
  at BIGINT NOT NULL,
  kind TEXT NOT NULL,
  amount BIGINT NOT NULL,
  moved BIGINT NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX ledger_lines_of ON ledger_lines (org, id);
CREATE INDEX ledger_lines_by ON ledger_lines (org, agent, at);
