-- The first schema. Ids are 16 bytes, times are milliseconds since 1970 in UTC,
-- structured values are JSON texts. Tables of tenants have the column `org`.
--
-- Tables that get rows with every message and turn refer to orgs without a
-- foreign key: their conversation has one, and a check for each row is expensive.

CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE
  AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- Aborts the transaction from within a statement, so that a commit can be sent
-- together with the statements whose success it depends on.
CREATE FUNCTION refuse(why TEXT) RETURNS BIGINT LANGUAGE plpgsql
  AS $$ BEGIN RAISE EXCEPTION USING MESSAGE = why, ERRCODE = 'OS001'; END $$;

-- Tenants ---------------------------------------------------------------------

CREATE TABLE orgs (
  id BYTEA PRIMARY KEY NOT NULL,
  slug TEXT NOT NULL UNIQUE,
  data TEXT NOT NULL
);

-- A user may belong to several orgs, so this table has no `org`. `email_key` is
-- the normalized address; `password` is a PHC string.
CREATE TABLE users (
  id BYTEA PRIMARY KEY NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password TEXT NOT NULL
);

CREATE TABLE memberships (
  org BYTEA NOT NULL REFERENCES orgs (id),
  user_id BYTEA NOT NULL REFERENCES users (id),
  role TEXT NOT NULL,
  PRIMARY KEY (org, user_id)
);
CREATE INDEX memberships_by_user ON memberships (user_id, org);
CREATE INDEX memberships_by_role ON memberships (org, role);

-- A transaction of one org reads the users of that org through `memberships`,
-- which is restricted to the org, and changes none.
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON users
  USING ((SELECT coalesce(current_setting('ostler.scope', true), '') = 'all'));
CREATE POLICY tenant ON users FOR SELECT
  USING (EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = users.id));

-- `secret_hash` is the SHA-256 of the secret, `prefix` its first characters.
CREATE TABLE api_keys (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  prefix TEXT NOT NULL,
  secret_hash BYTEA NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  PRIMARY KEY (org, id)
);

-- Versions are only added. The platform's policy is stored in the platform's
-- org, and all its versions are numbered in one sequence.
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

-- Connections to other services. `secret` is a reference to the secret.
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

CREATE TABLE audit (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX audit_by_subject ON audit (org, subject, id);

-- Agents ----------------------------------------------------------------------

CREATE TABLE agents (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  slug TEXT NOT NULL,
  version BIGINT NOT NULL DEFAULT 1,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id),
  UNIQUE (org, slug)
);

-- Every version of an agent, so that a run can name the one it ran with.
CREATE TABLE agent_versions (
  org BYTEA NOT NULL REFERENCES orgs (id),
  agent BYTEA NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, agent, version)
);

CREATE TABLE soul_versions (
  org BYTEA NOT NULL REFERENCES orgs (id),
  owner BYTEA NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, owner, version)
);

-- Decisions of people: approvals and soul proposals. `subject` is the session or
-- the agent concerned, `requested_by` the agent that asks. The times are the
-- database's, not those of the node that asks.
CREATE TABLE decisions (
  org BYTEA NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  id BYTEA NOT NULL,
  subject BYTEA NOT NULL,
  requested_by BYTEA NOT NULL,
  state TEXT NOT NULL,
  requested_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  decided_at BIGINT,
  data TEXT NOT NULL,
  PRIMARY KEY (org, kind, id)
);
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
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  key TEXT NOT NULL,
  epoch BIGINT NOT NULL DEFAULT 0,
  in_seq BIGINT NOT NULL DEFAULT 0,
  out_seq BIGINT NOT NULL DEFAULT 0,
  pending_at BIGINT,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org, id),
  UNIQUE (org, key)
);
CREATE INDEX conversations_pending ON conversations (org, pending_at) WHERE pending_at IS NOT NULL;
CREATE INDEX conversations_leased ON conversations (org, lease_until) WHERE lease_until > 0;

-- The normalized peer of each conversation; `conversations.key` has the exact
-- spelling. A person's key has no white space: `group bnd_…` is a group on a
-- binding, `erasing con_…` a contact that is being deleted.
CREATE TABLE conversation_peers (
  org BYTEA NOT NULL,
  peer TEXT NOT NULL,
  conversation BYTEA NOT NULL,
  PRIMARY KEY (org, peer, conversation)
);

-- `due_at` is when an entry may be tried next and, once it is finished, when
-- that was. `run` is the run that answered it. Runs are written in the order of
-- their ids, so an index by run grows at its end; entries without one are found
-- by their conversation.
CREATE TABLE inbox (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  seq BIGINT NOT NULL,
  binding BYTEA NOT NULL,
  provider_id TEXT NOT NULL,
  payload TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  reason TEXT,
  run BYTEA,
  PRIMARY KEY (org, id),
  UNIQUE (org, binding, provider_id)
);
CREATE INDEX inbox_pending ON inbox (org, conversation, seq) WHERE state = 'pending';
CREATE INDEX inbox_dead ON inbox (org, id) WHERE state = 'dead';
CREATE INDEX inbox_by_conversation ON inbox (org, conversation, id)
  WHERE state <> 'pending' AND run IS NULL;
CREATE INDEX inbox_by_run ON inbox (org, run) WHERE run IS NOT NULL;

-- `due_at` is when the session has to be closed or somebody reminded. Triggers
-- set `closed_at`; it is 0 while the session is open.
CREATE TABLE sessions (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  thread BYTEA NOT NULL,
  status TEXT NOT NULL,
  data TEXT NOT NULL,
  due_at BIGINT,
  closed_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org, id)
);
CREATE INDEX sessions_by_conversation ON sessions (org, conversation, id);
CREATE INDEX sessions_due ON sessions (due_at, org, id) WHERE due_at IS NOT NULL;
CREATE INDEX sessions_closed ON sessions (org, closed_at, id) WHERE closed_at > 0;
CREATE INDEX sessions_handed_off ON sessions (org, id) WHERE status = 'handed_off';

CREATE FUNCTION session_closed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  NEW.closed_at := CASE WHEN NEW.status LIKE 'closed%' THEN now_ms() ELSE 0 END;
  RETURN NEW;
END $$;
CREATE TRIGGER session_closed BEFORE INSERT OR UPDATE OF status ON sessions
  FOR EACH ROW WHEN ((NEW.status LIKE 'closed%') <> (NEW.closed_at > 0))
  EXECUTE FUNCTION session_closed();

CREATE TABLE messages (
  org BYTEA NOT NULL,
  thread BYTEA NOT NULL,
  seq BIGINT NOT NULL,
  id BYTEA NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, thread, seq)
);

CREATE TABLE runs (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  session BYTEA NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX runs_by_session ON runs (org, session, id);

-- The state of an unfinished turn, at most one for each conversation.
CREATE TABLE checkpoints (
  org BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  run BYTEA NOT NULL,
  version BIGINT NOT NULL,
  state TEXT NOT NULL,
  saved_at BIGINT NOT NULL,
  PRIMARY KEY (org, conversation)
);

-- External calls: an intent is written before a call and its outcome after it.
-- `state` is intended, done or unknown.
CREATE TABLE journal (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  run BYTEA NOT NULL,
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
);
CREATE INDEX journal_by_run ON journal (org, run, id);
CREATE INDEX journal_by_conversation ON journal (org, conversation, id);
CREATE INDEX journal_open ON journal (org, conversation, id) WHERE state IN ('intended', 'unknown');
CREATE INDEX journal_unknown ON journal (org, id) WHERE state = 'unknown';

-- The end of a turn deletes its checkpoint; an intent that is still open then has
-- an unknown outcome.
CREATE FUNCTION checkpoint_deleted() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  UPDATE journal SET state = 'unknown', settled_at = now_ms(),
    reason = 'the turn ended before the outcome was known'
  WHERE org = OLD.org AND conversation = OLD.conversation
    AND state IN ('intended', 'unknown') AND state = 'intended' AND run = OLD.run;
  RETURN OLD;
END $$;
CREATE TRIGGER checkpoint_deleted AFTER DELETE ON checkpoints
  FOR EACH ROW EXECUTE FUNCTION checkpoint_deleted();

-- One row holds the events of one commit: `data` all of them, `count` their
-- number, `id` the number of the last one. `xid` is the order of commits: a reader
-- reads those below the oldest running transaction, so that commits need not wait
-- for each other.
CREATE TABLE events (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  xid BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
  org BYTEA NOT NULL,
  run BYTEA,
  count BIGINT NOT NULL DEFAULT 1,
  data TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX events_by_org ON events (org, xid, id, count);
CREATE INDEX events_by_run ON events (org, run) WHERE run IS NOT NULL;

-- The last pruned event of an org: a reader behind it has missed events.
CREATE TABLE event_floors (
  org BYTEA PRIMARY KEY NOT NULL,
  xid BIGINT NOT NULL,
  id BIGINT NOT NULL
);

-- Delivery --------------------------------------------------------------------

-- A webhook knows only the binding's id, so it is unique among all orgs.
CREATE TABLE bindings (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL UNIQUE,
  agent BYTEA NOT NULL,
  data TEXT NOT NULL,
  settings TEXT NOT NULL,
  secret TEXT,
  PRIMARY KEY (org, id)
);

-- `progress` is how much of the message was sent, `retry_at` when a dead letter
-- is retried automatically. `due_at` is as in the inbox.
CREATE TABLE outbox (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
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
);
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE state = 'pending';
CREATE INDEX outbox_open ON outbox (org, conversation, seq) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_sending ON outbox (claimed_until) WHERE state = 'sending';
CREATE INDEX outbox_by_conversation ON outbox (org, conversation, id)
  WHERE state NOT IN ('pending', 'sending');
CREATE INDEX outbox_undelivered ON outbox (org, id) WHERE state IN ('dead', 'unknown');
CREATE INDEX outbox_retry ON outbox (retry_at) WHERE state = 'dead' AND retry_at IS NOT NULL;

-- Bindings whose provider asked for a pause.
CREATE TABLE send_pauses (
  org BYTEA NOT NULL,
  binding BYTEA NOT NULL,
  paused_until BIGINT NOT NULL,
  PRIMARY KEY (org, binding)
);

-- Messages about a conversation in a chat of the org's own people. A reply to one
-- of them belongs to that conversation.
CREATE TABLE team_messages (
  org BYTEA NOT NULL,
  binding BYTEA NOT NULL,
  chat TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  conversation BYTEA NOT NULL,
  sent_at BIGINT NOT NULL,
  PRIMARY KEY (org, binding, chat, provider_id)
);
CREATE INDEX team_messages_by_time ON team_messages (org, binding, chat, sent_at);
CREATE INDEX team_messages_by_conversation ON team_messages (org, conversation);

CREATE TABLE notices (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  kind TEXT NOT NULL,
  recipient TEXT NOT NULL,
  subject TEXT NOT NULL,
  data TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  read_at BIGINT,
  PRIMARY KEY (org, id)
);
CREATE INDEX notices_unread ON notices (org, recipient, id) WHERE read_at IS NULL;
-- Subjects are searched by prefix, which needs the order of the bytes.
CREATE INDEX notices_by_subject ON notices (org, subject COLLATE "C", id);

-- Until when the same notice is not sent again.
CREATE TABLE notice_cooldowns (
  org BYTEA NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  recipient TEXT NOT NULL,
  quiet_until BIGINT NOT NULL,
  PRIMARY KEY (org, kind, subject, recipient)
);
CREATE INDEX notice_cooldowns_by_end ON notice_cooldowns (quiet_until);

-- Contacts --------------------------------------------------------------------

-- `phone_key` and `email_key` are normalized.
CREATE TABLE contacts (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
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
  org BYTEA NOT NULL REFERENCES orgs (id),
  channel TEXT NOT NULL,
  identifier TEXT NOT NULL,
  contact BYTEA NOT NULL,
  PRIMARY KEY (org, channel, identifier)
);
CREATE INDEX contact_identifiers_by_contact
  ON contact_identifiers (org, contact, channel, identifier);

-- Contacts that were deleted; without `finished_at` the deletion is under way.
CREATE TABLE erasures (
  org BYTEA NOT NULL REFERENCES orgs (id),
  contact BYTEA NOT NULL,
  started_at BIGINT NOT NULL,
  finished_at BIGINT,
  PRIMARY KEY (org, contact)
);

-- Business records of any kind: issues, insights, settings, and what an org's own
-- tools store. A new kind needs no migration.
CREATE TABLE records (
  org BYTEA NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  id BYTEA NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, kind, id)
);
CREATE INDEX records_idempotency ON records (updated_at) WHERE kind = 'idempotency';

-- How many reference codes of a UTC day were given to nodes.
CREATE TABLE reference_codes (
  day BIGINT PRIMARY KEY NOT NULL,
  used BIGINT NOT NULL
);

-- Images, recordings and files of messages.
CREATE TABLE blobs (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  data TEXT NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (org, id)
);

-- The conversations that refer to a blob; it is deleted with the last of them.
CREATE TABLE blob_uses (
  org BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  blob BYTEA NOT NULL,
  PRIMARY KEY (org, conversation, blob)
);
CREATE INDEX blob_uses_by_blob ON blob_uses (org, blob);

-- Credits and rates -----------------------------------------------------------

-- `account` holds the pools of an org, `shared_usage` what it has paid for its
-- children, `sharing_policy` its caps on that. A transaction that changes an
-- account locks its row. A turn's commit does not: it writes its charges to its
-- own reservation, and they are applied later.
CREATE TABLE credit_accounts (
  org BYTEA PRIMARY KEY NOT NULL REFERENCES orgs (id),
  account TEXT NOT NULL,
  shared_usage TEXT NOT NULL,
  sharing_policy TEXT NOT NULL
);

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

-- Every grant and every expense. `debit` is what the line takes from the org's
-- own credits: 0 if another org pays. `reference` makes a grant idempotent.
CREATE TABLE ledger_lines (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  org BYTEA NOT NULL,
  agent BYTEA,
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

-- Counts in a time window of `window_ms` that ends at `ends_at`. A turn locks the
-- counter until its commit is on disk, so each connection adds to a `shard` of its
-- own and the count is their sum. Counts with a limit use shard 0.
CREATE TABLE rate_counters (
  org BYTEA NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  window_ms BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  shard BIGINT NOT NULL DEFAULT 0,
  used BIGINT NOT NULL,
  PRIMARY KEY (org, name, window_ms, ends_at, shard)
);
CREATE INDEX rate_counters_by_end ON rate_counters (ends_at);

-- Knowledge -------------------------------------------------------------------

-- Documents are searched by words that the program extracts, in an index that
-- begins with the org: the full-text indexes of the two databases tokenize
-- differently, rank one org's documents by those of others, and PostgreSQL does
-- not use its own under row-level security.
CREATE TABLE documents (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
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
  org BYTEA NOT NULL,
  tag TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  document BYTEA NOT NULL,
  PRIMARY KEY (org, tag, updated_at, document)
);
CREATE INDEX document_tags_by_document ON document_tags (org, document);

CREATE TABLE document_words (
  org BYTEA NOT NULL,
  word TEXT NOT NULL,
  weight BIGINT NOT NULL,
  document BYTEA NOT NULL,
  PRIMARY KEY (org, word, weight, document)
);
CREATE INDEX document_words_by_document ON document_words (org, document);

-- Queue agents ----------------------------------------------------------------

-- Names are sorted by their bytes.

-- `availability`, `available_until` and `load` are as last reported. `shares_work`
-- is 1 for an agent that takes work addressed to any member of its team.
CREATE TABLE queue_agents (
  org BYTEA NOT NULL REFERENCES orgs (id),
  name TEXT COLLATE "C" NOT NULL,
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
);

-- Finds agents by capability.
CREATE TABLE queue_capabilities (
  org BYTEA NOT NULL,
  capability TEXT COLLATE "C" NOT NULL,
  agent TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (org, capability, agent)
);
CREATE INDEX queue_capabilities_by_agent ON queue_capabilities (org, agent, capability);

-- `data` is the whole delegation; the other columns are searched. `watch` is the
-- state of the deadline watch, if there is one, and `last_attempt_at` the time of
-- its last action.
CREATE TABLE queue_delegations (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  assignee TEXT COLLATE "C" NOT NULL,
  status TEXT NOT NULL,
  due_at BIGINT,
  data TEXT NOT NULL,
  watch TEXT,
  last_attempt_at BIGINT,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
);
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
  org BYTEA NOT NULL,
  task BYTEA NOT NULL,
  blocker BYTEA NOT NULL,
  open BIGINT NOT NULL,
  PRIMARY KEY (org, task, blocker)
);
CREATE INDEX queue_blockers_by_blocker ON queue_blockers (org, blocker, task);
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
CREATE INDEX queue_team_members_by_team ON queue_team_members (org, team, agent);

-- Messages to an agent that wait for the approval of a plan or for a person.
-- `version` counts the changes of a row.
CREATE TABLE queue_pending_messages (
  org BYTEA NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  agent TEXT COLLATE "C" NOT NULL,
  message BYTEA NOT NULL,
  version BIGINT NOT NULL,
  data TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, kind, agent, message)
);

-- Workflows -------------------------------------------------------------------

-- `definition` is a copy from the start of the workflow. `due_at` is when a worker
-- has to look at it; NULL if none has to. `signals` counts answers, events and
-- cancellations; a worker that releases the workflow names the count that it has
-- read, so that no signal is lost. `attempts` counts claims since the last
-- progress.
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
  signals BIGINT NOT NULL DEFAULT 0,
  attempts BIGINT NOT NULL DEFAULT 0,
  lease_token BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX workflows_due ON workflows (due_at) WHERE due_at IS NOT NULL;

-- The work of steps: its result, the checkpoint of its turn, and its record.
CREATE TABLE workflow_tasks (
  org BYTEA NOT NULL,
  workflow BYTEA NOT NULL,
  task TEXT NOT NULL,
  result TEXT,
  checkpoint TEXT,
  record TEXT,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, workflow, task),
  FOREIGN KEY (org, workflow) REFERENCES workflows (org, id) ON DELETE CASCADE
);

-- Answers of people, and events that reached their step. A question is answered
-- once; `consumed` is 1 once the step has used the answer.
CREATE TABLE workflow_answers (
  org BYTEA NOT NULL,
  workflow BYTEA NOT NULL,
  task TEXT NOT NULL,
  question TEXT NOT NULL,
  data TEXT NOT NULL,
  consumed BIGINT NOT NULL DEFAULT 0,
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
CREATE INDEX workflow_waits_by_event ON workflow_waits (org, event, since);

-- Published events. One without a workflow waits for a step that wants it.
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

-- The triggers run at the end of the transaction, so that the rows are locked
-- only briefly.
CREATE FUNCTION config_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  UPDATE change_counters SET value = value + 1;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER config_orgs AFTER INSERT OR UPDATE ON orgs
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_agents AFTER INSERT OR UPDATE ON agents
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_soul_versions AFTER INSERT OR UPDATE ON soul_versions
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_tool_policies AFTER INSERT OR UPDATE ON tool_policies
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_integrations AFTER INSERT OR UPDATE ON integrations
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_bindings AFTER INSERT OR UPDATE ON bindings
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE CONSTRAINT TRIGGER config_settings AFTER INSERT OR UPDATE ON records
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'settings')
  EXECUTE FUNCTION config_changed();

CREATE FUNCTION documents_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  UPDATE change_counters SET value = value + 1 WHERE id = 2;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER documents_changed AFTER INSERT OR UPDATE OR DELETE ON documents
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION documents_changed();
