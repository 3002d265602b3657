-- What waits for a person's decision: approvals and soul proposals. `subject` is
-- what it is about (a session, an agent), `asker` the agent that asks. The state
-- and the times are columns because they are searched; the times are the
-- database's, whatever the clock of the node that asked says.

CREATE TABLE decisions (
  org BLOB NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  id BLOB NOT NULL,
  subject BLOB NOT NULL,
  asker BLOB NOT NULL,
  state TEXT NOT NULL,
  asked_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  decided_at BIGINT,
  data TEXT NOT NULL,
  PRIMARY KEY (org, kind, id)
) WITHOUT ROWID;
CREATE INDEX decisions_in_state ON decisions (org, kind, state, id);
CREATE INDEX decisions_pending_about ON decisions (org, kind, subject, id) WHERE state = 'pending';
CREATE INDEX decisions_asked_by ON decisions (org, kind, asker, asked_at);
CREATE INDEX decisions_due ON decisions (kind, expires_at) WHERE state = 'pending';
