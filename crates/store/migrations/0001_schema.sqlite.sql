-- The first schema. Ids are 16 bytes, times are milliseconds since 1970 in UTC,
-- structured values are JSON texts. Tables of tenants have the column `org`.
--
-- Tables that get rows with every message and turn refer to orgs without a
-- foreign key: their conversation has one, and a check for each row is expensive.

-- Tenants ---------------------------------------------------------------------

CREATE TABLE orgs (
  id BLOB PRIMARY KEY NOT NULL,
  slug TEXT NOT NULL UNIQUE,
  data TEXT NOT NULL
) WITHOUT ROWID;

-- A user may belong to several orgs, so this table has no `org`. `email_key` is
-- the normalized address; `password` is a PHC string.
CREATE TABLE users (
  id BLOB PRIMARY KEY NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE memberships (
  org BLOB NOT NULL REFERENCES orgs (id),
  user_id BLOB NOT NULL REFERENCES users (id),
  role TEXT NOT NULL,
  PRIMARY KEY (org, user_id)
) WITHOUT ROWID;
CREATE INDEX memberships_by_user ON memberships (user_id, org);
CREATE INDEX memberships_by_role ON memberships (org, role);

-- `secret_hash` is the SHA-256 of the secret, `prefix` its first characters.
CREATE TABLE api_keys (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  prefix TEXT NOT NULL,
  secret_hash BLOB NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;

-- Versions are only added. The platform's policy is stored in the platform's
-- org, and all its versions are numbered in one sequence.
CREATE TABLE tool_policies (
  org BLOB NOT NULL REFERENCES orgs (id),
  policy_layer TEXT NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, policy_layer, version)
) WITHOUT ROWID;
CREATE UNIQUE INDEX tool_policies_platform ON tool_policies (version)
  WHERE policy_layer = 'platform';

-- Connections to other services. `secret` is a reference to the secret.
CREATE TABLE integrations (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  service TEXT NOT NULL,
  status TEXT NOT NULL,
  settings TEXT NOT NULL,
  secret TEXT,
  PRIMARY KEY (org, id),
  UNIQUE (org, service)
) WITHOUT ROWID;

CREATE TABLE audit (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX audit_by_subject ON audit (org, subject, id);

-- Agents ----------------------------------------------------------------------

CREATE TABLE agents (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  slug TEXT NOT NULL,
  version BIGINT NOT NULL DEFAULT 1,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id),
  UNIQUE (org, slug)
) WITHOUT ROWID;

-- Every version of an agent, so that a run can name the one it ran with.
CREATE TABLE agent_versions (
  org BLOB NOT NULL REFERENCES orgs (id),
  agent BLOB NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, agent, version)
) WITHOUT ROWID;

CREATE TABLE soul_versions (
  org BLOB NOT NULL REFERENCES orgs (id),
  owner BLOB NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, owner, version)
) WITHOUT ROWID;

-- Decisions of people: approvals and soul proposals. `subject` is the session or
-- the agent concerned, `requested_by` the agent that asks. The times are the
-- database's, not those of the node that asks.
CREATE TABLE decisions (
  org BLOB NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  id BLOB NOT NULL,
  subject BLOB NOT NULL,
  requested_by BLOB NOT NULL,
  state TEXT NOT NULL,
  requested_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  decided_at BIGINT,
  data TEXT NOT NULL,
  PRIMARY KEY (org, kind, id)
) WITHOUT ROWID;
CREATE INDEX decisions_by_state ON decisions (org, kind, state, id);
CREATE INDEX decisions_by_subject ON decisions (org, kind, subject, id);
CREATE INDEX decisions_pending_by_subject ON decisions (org, kind, subject, id)
  WHERE state = 'pending';
CREATE INDEX decisions_by_requester ON decisions (org, kind, requested_by, requested_at);
CREATE INDEX decisions_due ON decisions (kind, expires_at) WHERE state = 'pending';

-- Conversations ---------------------------------------------------------------

-- A conversation and its lease. `pending_at` is when it can be claimed next: NULL
-- if no input waits, the end of the lease while a worker holds it. `in_seq` and
-- `out_seq` number its messages in the order of acceptance and commit.
CREATE TABLE conversations (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  key TEXT NOT NULL,
  epoch BIGINT NOT NULL DEFAULT 0,
  in_seq BIGINT NOT NULL DEFAULT 0,
  out_seq BIGINT NOT NULL DEFAULT 0,
  pending_at BIGINT,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org, id),
  UNIQUE (org, key)
) WITHOUT ROWID;
CREATE INDEX conversations_pending ON conversations (org, pending_at) WHERE pending_at IS NOT NULL;
CREATE INDEX conversations_leased ON conversations (org, lease_until) WHERE lease_until > 0;

-- The normalized peer of each conversation; `conversations.key` has the exact
-- spelling. A person's key has no white space: `group bnd_…` is a group on a
-- binding, `erasing con_…` a contact that is being deleted.
CREATE TABLE conversation_peers (
  org BLOB NOT NULL,
  peer TEXT NOT NULL,
  conversation BLOB NOT NULL,
  PRIMARY KEY (org, peer, conversation)
) WITHOUT ROWID;

-- `due_at` is when an entry may be tried next and, once it is finished, when
-- that was. `run` is the run that answered it. Runs are written in the order of
-- their ids, so an index by run grows at its end; entries without one are found
-- by their conversation.
CREATE TABLE inbox (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  conversation BLOB NOT NULL,
  seq BIGINT NOT NULL,
  binding BLOB NOT NULL,
  provider_id TEXT NOT NULL,
  payload TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  reason TEXT,
  run BLOB,
  PRIMARY KEY (org, id),
  UNIQUE (org, binding, provider_id)
) WITHOUT ROWID;
CREATE INDEX inbox_pending ON inbox (org, conversation, seq) WHERE state = 'pending';
CREATE INDEX inbox_dead ON inbox (org, id) WHERE state = 'dead';
CREATE INDEX inbox_by_conversation ON inbox (org, conversation, id)
  WHERE state <> 'pending' AND run IS NULL;
CREATE INDEX inbox_by_run ON inbox (org, run) WHERE run IS NOT NULL;

-- `due_at` is when the session has to be closed or somebody reminded. Triggers
-- set `closed_at`; it is 0 while the session is open.
CREATE TABLE sessions (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  conversation BLOB NOT NULL,
  thread BLOB NOT NULL,
  status TEXT NOT NULL,
  data TEXT NOT NULL,
  due_at BIGINT,
  closed_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX sessions_by_conversation ON sessions (org, conversation, id);
CREATE INDEX sessions_due ON sessions (due_at, org, id) WHERE due_at IS NOT NULL;
CREATE INDEX sessions_closed ON sessions (org, closed_at, id) WHERE closed_at > 0;
CREATE INDEX sessions_handed_off ON sessions (org, id) WHERE status = 'handed_off';

CREATE TRIGGER session_inserted_closed AFTER INSERT ON sessions WHEN NEW.status LIKE 'closed%'
BEGIN
  UPDATE sessions SET closed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE org = NEW.org AND id = NEW.id;
END;
CREATE TRIGGER session_closed AFTER UPDATE OF status ON sessions
WHEN (NEW.status LIKE 'closed%') <> (NEW.closed_at > 0)
BEGIN
  UPDATE sessions SET closed_at = CASE
    WHEN NEW.status LIKE 'closed%' THEN CAST(unixepoch('subsec') * 1000 AS INTEGER) ELSE 0 END
  WHERE org = NEW.org AND id = NEW.id;
END;

-- Messages and runs have a rowid: they are stored in the order of writing. In the
-- order of threads, each new message would move several pages.
CREATE TABLE messages (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  seq BIGINT NOT NULL,
  id BLOB NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, thread, seq)
);

CREATE TABLE runs (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  session BLOB NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX runs_by_session ON runs (org, session, id);

-- The state of an unfinished turn, at most one for each conversation.
CREATE TABLE checkpoints (
  org BLOB NOT NULL,
  conversation BLOB NOT NULL,
  run BLOB NOT NULL,
  version BIGINT NOT NULL,
  state TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, conversation)
) WITHOUT ROWID;

-- External calls: an intent is written before a call and its outcome after it.
-- `state` is intended, done or unknown.
CREATE TABLE journal (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  conversation BLOB NOT NULL,
  run BLOB NOT NULL,
  tool TEXT NOT NULL,
  key TEXT NOT NULL,
  arguments TEXT NOT NULL,
  idempotent BIGINT NOT NULL,
  state TEXT NOT NULL DEFAULT 'intended',
  outcome TEXT,
  reason TEXT,
  intended_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX journal_by_run ON journal (org, run, id);
CREATE INDEX journal_by_conversation ON journal (org, conversation, id);
CREATE INDEX journal_open ON journal (org, conversation, id) WHERE state IN ('intended', 'unknown');
CREATE INDEX journal_unknown ON journal (org, id) WHERE state = 'unknown';

-- The end of a turn deletes its checkpoint; an intent that is still open then has
-- an unknown outcome.
CREATE TRIGGER checkpoint_deleted AFTER DELETE ON checkpoints
BEGIN
  UPDATE journal SET state = 'unknown', settled_at = CAST(unixepoch('subsec') * 1000 AS INTEGER),
    reason = 'the turn ended before the outcome was known'
  WHERE org = OLD.org AND id IN (
    SELECT j.id FROM journal j INDEXED BY journal_open
    WHERE j.org = OLD.org AND j.conversation = OLD.conversation
      AND j.state IN ('intended', 'unknown') AND j.state = 'intended' AND j.run = OLD.run);
END;

-- One row holds the events of one commit: `data` all of them, `count` their
-- number, `id` the number of the last one. `xid` is the order of commits; SQLite
-- has one writer, so it is 0.
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  xid BIGINT NOT NULL DEFAULT 0,
  org BLOB NOT NULL,
  run BLOB,
  count BIGINT NOT NULL DEFAULT 1,
  data TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX events_by_org ON events (org, id, count);
CREATE INDEX events_by_run ON events (org, run) WHERE run IS NOT NULL;

-- The last pruned event of an org: a reader behind it has missed events.
CREATE TABLE event_floors (
  org BLOB PRIMARY KEY NOT NULL,
  xid BIGINT NOT NULL,
  id BIGINT NOT NULL
) WITHOUT ROWID;

-- Delivery --------------------------------------------------------------------

-- A webhook knows only the binding's id, so it is unique among all orgs.
CREATE TABLE bindings (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL UNIQUE,
  agent BLOB NOT NULL,
  data TEXT NOT NULL,
  settings TEXT NOT NULL,
  secret TEXT,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;

-- `progress` is how much of the message was sent, `retry_at` when a dead letter
-- is retried automatically. `due_at` is as in the inbox.
CREATE TABLE outbox (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  conversation BLOB NOT NULL,
  seq BIGINT NOT NULL,
  author TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  payload TEXT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  claimed_until BIGINT NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'pending',
  reason TEXT,
  progress TEXT,
  retry_at BIGINT,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE state = 'pending';
CREATE INDEX outbox_open ON outbox (org, conversation, seq) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_sending ON outbox (claimed_until) WHERE state = 'sending';
CREATE INDEX outbox_by_conversation ON outbox (org, conversation, id)
  WHERE state NOT IN ('pending', 'sending');
CREATE INDEX outbox_undelivered ON outbox (org, id) WHERE state IN ('dead', 'unknown');
CREATE INDEX outbox_retry ON outbox (retry_at) WHERE state = 'dead' AND retry_at IS NOT NULL;

-- Bindings whose provider asked for a pause.
CREATE TABLE send_pauses (
  org BLOB NOT NULL,
  binding BLOB NOT NULL,
  paused_until BIGINT NOT NULL,
  PRIMARY KEY (org, binding)
) WITHOUT ROWID;

-- Messages about a conversation in a chat of the org's own people. A reply to one
-- of them belongs to that conversation.
CREATE TABLE team_messages (
  org BLOB NOT NULL,
  binding BLOB NOT NULL,
  chat TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  conversation BLOB NOT NULL,
  sent_at BIGINT NOT NULL,
  PRIMARY KEY (org, binding, chat, provider_id)
) WITHOUT ROWID;
CREATE INDEX team_messages_by_time ON team_messages (org, binding, chat, sent_at);
CREATE INDEX team_messages_by_conversation ON team_messages (org, conversation);

CREATE TABLE notices (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  kind TEXT NOT NULL,
  recipient TEXT NOT NULL,
  subject TEXT NOT NULL,
  data TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  read_at BIGINT,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX notices_unread ON notices (org, recipient, id) WHERE read_at IS NULL;
CREATE INDEX notices_by_subject ON notices (org, subject, id);

-- Until when the same notice is not sent again.
CREATE TABLE notice_cooldowns (
  org BLOB NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  recipient TEXT NOT NULL,
  quiet_until BIGINT NOT NULL,
  PRIMARY KEY (org, kind, subject, recipient)
) WITHOUT ROWID;
CREATE INDEX notice_cooldowns_by_end ON notice_cooldowns (quiet_until);

-- Contacts --------------------------------------------------------------------

-- `phone_key` and `email_key` are normalized.
CREATE TABLE contacts (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  version BIGINT NOT NULL,
  phone_key TEXT,
  email_key TEXT,
  data TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX contacts_phone ON contacts (org, phone_key, id) WHERE phone_key IS NOT NULL;
CREATE INDEX contacts_email ON contacts (org, email_key, id) WHERE email_key IS NOT NULL;

-- The normalized identifier of a contact on each channel.
CREATE TABLE contact_identifiers (
  org BLOB NOT NULL REFERENCES orgs (id),
  channel TEXT NOT NULL,
  identifier TEXT NOT NULL,
  contact BLOB NOT NULL,
  PRIMARY KEY (org, channel, identifier)
) WITHOUT ROWID;
CREATE INDEX contact_identifiers_by_contact
  ON contact_identifiers (org, contact, channel, identifier);

-- Contacts that were deleted; without `finished_at` the deletion is under way.
CREATE TABLE erasures (
  org BLOB NOT NULL REFERENCES orgs (id),
  contact BLOB NOT NULL,
  started_at BIGINT NOT NULL,
  finished_at BIGINT,
  PRIMARY KEY (org, contact)
) WITHOUT ROWID;

-- Business records of any kind: issues, insights, settings, and what an org's own
-- tools store. A new kind needs no migration.
CREATE TABLE records (
  org BLOB NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  id BLOB NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, kind, id)
) WITHOUT ROWID;
CREATE INDEX records_idempotency ON records (updated_at) WHERE kind = 'idempotency';

-- How many reference codes of a UTC day were given to nodes.
CREATE TABLE reference_codes (
  day BIGINT PRIMARY KEY NOT NULL,
  used BIGINT NOT NULL
) WITHOUT ROWID;

-- Images, recordings and files of messages.
CREATE TABLE blobs (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  created_at BIGINT NOT NULL,
  data TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (org, id)
);

-- The conversations that refer to a blob; it is deleted with the last of them.
CREATE TABLE blob_uses (
  org BLOB NOT NULL,
  conversation BLOB NOT NULL,
  blob BLOB NOT NULL,
  PRIMARY KEY (org, conversation, blob)
) WITHOUT ROWID;
CREATE INDEX blob_uses_by_blob ON blob_uses (org, blob);

-- Credits and rates -----------------------------------------------------------

-- `account` holds the pools of an org, `shared_usage` what it has paid for its
-- children, `sharing_policy` its caps on that. A transaction that changes an
-- account locks its row. A turn's commit does not: it writes its charges to its
-- own reservation, and they are applied later.
CREATE TABLE credit_accounts (
  org BLOB PRIMARY KEY NOT NULL REFERENCES orgs (id),
  account TEXT NOT NULL,
  shared_usage TEXT NOT NULL,
  sharing_policy TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE reservations (
  org BLOB NOT NULL,
  id BLOB NOT NULL,
  expires_at BIGINT NOT NULL,
  data TEXT NOT NULL,
  charges TEXT,
  settled_at BIGINT,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX reservations_settled ON reservations (org, settled_at) WHERE charges IS NOT NULL;
CREATE INDEX reservations_open ON reservations (expires_at) WHERE charges IS NULL;

-- Every grant and every expense. `debit` is what the line takes from the org's
-- own credits: 0 if another org pays. `reference` makes a grant idempotent.
CREATE TABLE ledger_lines (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  org BLOB NOT NULL,
  agent BLOB,
  at BIGINT NOT NULL,
  kind TEXT NOT NULL,
  amount BIGINT NOT NULL,
  debit BIGINT NOT NULL,
  data TEXT NOT NULL,
  reference TEXT
);
CREATE INDEX ledger_lines_by_org ON ledger_lines (org, id);
CREATE INDEX ledger_lines_by_agent ON ledger_lines (org, agent, at);
CREATE UNIQUE INDEX ledger_lines_reference ON ledger_lines (org, reference)
  WHERE reference IS NOT NULL;

-- Counts in a time window of `window_ms` that ends at `ends_at`. SQLite has one
-- writer, so `shard` is always 0.
CREATE TABLE rate_counters (
  org BLOB NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  window_ms BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  shard BIGINT NOT NULL DEFAULT 0,
  used BIGINT NOT NULL,
  PRIMARY KEY (org, name, window_ms, ends_at)
) WITHOUT ROWID;
CREATE INDEX rate_counters_by_end ON rate_counters (ends_at);

-- Knowledge -------------------------------------------------------------------

-- Documents are searched by words that the program extracts, in an index that
-- begins with the org: the full-text indexes of the two databases tokenize
-- differently, rank one org's documents by those of others, and PostgreSQL does
-- not use its own under row-level security.
CREATE TABLE documents (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  title TEXT NOT NULL,
  tags TEXT NOT NULL,
  size BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX documents_newest ON documents (org, updated_at, id);

CREATE TABLE document_tags (
  org BLOB NOT NULL,
  tag TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  document BLOB NOT NULL,
  PRIMARY KEY (org, tag, updated_at, document)
) WITHOUT ROWID;
CREATE INDEX document_tags_by_document ON document_tags (org, document);

CREATE TABLE document_words (
  org BLOB NOT NULL,
  word TEXT NOT NULL,
  weight BIGINT NOT NULL,
  document BLOB NOT NULL,
  PRIMARY KEY (org, word, weight, document)
) WITHOUT ROWID;
CREATE INDEX document_words_by_document ON document_words (org, document);

-- Queue agents ----------------------------------------------------------------

-- `availability`, `available_until` and `load` are as last reported. `shares_work`
-- is 1 for an agent that takes work addressed to any member of its team.
CREATE TABLE queue_agents (
  org BLOB NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  placement TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  availability TEXT NOT NULL,
  available_until BIGINT,
  concurrency BIGINT NOT NULL,
  load BIGINT NOT NULL,
  config TEXT NOT NULL,
  shares_work BIGINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
) WITHOUT ROWID;

-- Finds agents by capability.
CREATE TABLE queue_capabilities (
  org BLOB NOT NULL,
  capability TEXT NOT NULL,
  agent TEXT NOT NULL,
  PRIMARY KEY (org, capability, agent)
) WITHOUT ROWID;
CREATE INDEX queue_capabilities_by_agent ON queue_capabilities (org, agent, capability);

-- `data` is the whole delegation; the other columns are searched. `watch` is the
-- state of the deadline watch, if there is one, and `last_attempt_at` the time of
-- its last action.
CREATE TABLE queue_delegations (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  assignee TEXT NOT NULL,
  status TEXT NOT NULL,
  due_at BIGINT,
  data TEXT NOT NULL,
  watch TEXT,
  last_attempt_at BIGINT,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX queue_delegations_by_assignee ON queue_delegations (org, assignee, id);
CREATE INDEX queue_delegations_open ON queue_delegations (org, id) WHERE status <> 'complete';
CREATE INDEX queue_delegations_due ON queue_delegations (org, due_at, id)
  WHERE status <> 'complete' AND due_at IS NOT NULL;
CREATE INDEX queue_delegations_overdue ON queue_delegations (org, due_at, id)
  WHERE watch IS NOT NULL AND last_attempt_at IS NULL;
CREATE INDEX queue_delegations_attempted ON queue_delegations (org, last_attempt_at, id)
  WHERE watch IS NOT NULL;

-- Dependencies between delegations; `open` is 1 until the blocker is complete.
CREATE TABLE queue_blockers (
  org BLOB NOT NULL,
  task BLOB NOT NULL,
  blocker BLOB NOT NULL,
  open BIGINT NOT NULL,
  PRIMARY KEY (org, task, blocker)
) WITHOUT ROWID;
CREATE INDEX queue_blockers_by_blocker ON queue_blockers (org, blocker, task);
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
CREATE INDEX queue_team_members_by_team ON queue_team_members (org, team, agent);

-- Messages to an agent that wait for the approval of a plan or for a person.
-- `version` counts the changes of a row.
CREATE TABLE queue_pending_messages (
  org BLOB NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  agent TEXT NOT NULL,
  message BLOB NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, kind, agent, message)
) WITHOUT ROWID;

-- Workflows -------------------------------------------------------------------

-- `definition` is a copy from the start of the workflow. `due_at` is when a worker
-- has to look at it; NULL if none has to. `signals` counts answers, events and
-- cancellations; a worker that releases the workflow names the count that it has
-- read, so that no signal is lost. `attempts` counts claims since the last
-- progress.
CREATE TABLE workflows (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  definition TEXT NOT NULL,
  input TEXT NOT NULL,
  state TEXT NOT NULL,
  spent BIGINT NOT NULL DEFAULT 0,
  cancelled BIGINT NOT NULL DEFAULT 0,
  signals BIGINT NOT NULL DEFAULT 0,
  attempts BIGINT NOT NULL DEFAULT 0,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE INDEX workflows_due ON workflows (due_at) WHERE due_at IS NOT NULL;

-- The work of steps: its result, the checkpoint of its turn, and its record.
CREATE TABLE workflow_tasks (
  org BLOB NOT NULL,
  workflow BLOB NOT NULL,
  task TEXT NOT NULL,
  result TEXT,
  checkpoint TEXT,
  record TEXT,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, workflow, task),
  FOREIGN KEY (org, workflow) REFERENCES workflows (org, id) ON DELETE CASCADE
) WITHOUT ROWID;

-- Answers of people, and events that reached their step. A question is answered
-- once; `consumed` is 1 once the step has used the answer.
CREATE TABLE workflow_answers (
  org BLOB NOT NULL,
  workflow BLOB NOT NULL,
  task TEXT NOT NULL,
  question TEXT NOT NULL,
  data TEXT NOT NULL,
  consumed BIGINT NOT NULL DEFAULT 0,
  answered_at BIGINT NOT NULL,
  PRIMARY KEY (org, workflow, task, question),
  FOREIGN KEY (org, workflow) REFERENCES workflows (org, id) ON DELETE CASCADE
) WITHOUT ROWID;

-- Steps that wait for an event.
CREATE TABLE workflow_waits (
  org BLOB NOT NULL,
  workflow BLOB NOT NULL,
  task TEXT NOT NULL,
  event TEXT NOT NULL,
  question TEXT NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (org, workflow, task),
  FOREIGN KEY (org, workflow) REFERENCES workflows (org, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX workflow_waits_by_event ON workflow_waits (org, event, since);

-- Published events. One without a workflow waits for a step that wants it.
CREATE TABLE workflow_events (
  org BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  payload TEXT NOT NULL,
  workflow BLOB,
  task TEXT,
  published_at BIGINT NOT NULL,
  PRIMARY KEY (org, id),
  FOREIGN KEY (org, workflow) REFERENCES workflows (org, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX workflow_events_waiting ON workflow_events (org, name, published_at, id)
  WHERE workflow IS NULL;
CREATE INDEX workflow_events_by_workflow ON workflow_events (org, workflow)
  WHERE workflow IS NOT NULL;

-- Change counters -------------------------------------------------------------

-- Counter 1 grows with every change of a table that agents are configured by,
-- counter 2 also with every change of a document. A cache that remembers their
-- values knows when to read again.
CREATE TABLE change_counters (id BIGINT PRIMARY KEY NOT NULL, value BIGINT NOT NULL);
INSERT INTO change_counters (id, value) VALUES (1, 1), (2, 1);

CREATE TRIGGER config_orgs_added AFTER INSERT ON orgs
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_orgs_changed AFTER UPDATE ON orgs
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_agents_added AFTER INSERT ON agents
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_agents_changed AFTER UPDATE ON agents
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_soul_versions_added AFTER INSERT ON soul_versions
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_soul_versions_changed AFTER UPDATE ON soul_versions
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_tool_policies_added AFTER INSERT ON tool_policies
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_tool_policies_changed AFTER UPDATE ON tool_policies
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_integrations_added AFTER INSERT ON integrations
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_integrations_changed AFTER UPDATE ON integrations
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_bindings_added AFTER INSERT ON bindings
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_bindings_changed AFTER UPDATE ON bindings
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_settings_added AFTER INSERT ON records WHEN NEW.kind = 'settings'
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER config_settings_changed AFTER UPDATE ON records WHEN NEW.kind = 'settings'
BEGIN UPDATE change_counters SET value = value + 1; END;
CREATE TRIGGER documents_added AFTER INSERT ON documents
BEGIN UPDATE change_counters SET value = value + 1 WHERE id = 2; END;
CREATE TRIGGER documents_changed AFTER UPDATE ON documents
BEGIN UPDATE change_counters SET value = value + 1 WHERE id = 2; END;
CREATE TRIGGER documents_removed AFTER DELETE ON documents
BEGIN UPDATE change_counters SET value = value + 1 WHERE id = 2; END;
