-- Webhooks: addresses of an org's own systems, to which its events are sent. `event_xid` and
-- `event_id` are the last event for which deliveries were made. `keys` are the signing keys as
-- JSON, newest first; nobody can read them again. `claimed_until` leases a webhook to the
-- process that sends to it, `resume_at` is when its receiver is tried again, and `served_at`
-- lets webhooks take turns.
CREATE TABLE webhooks (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  config TEXT NOT NULL,
  keys TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  version BIGINT NOT NULL DEFAULT 1,
  event_xid BIGINT NOT NULL,
  event_id BIGINT NOT NULL,
  failures BIGINT NOT NULL DEFAULT 0,
  failing_since BIGINT,
  resume_at BIGINT NOT NULL DEFAULT 0,
  claimed_until BIGINT NOT NULL DEFAULT 0,
  served_at BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org, id)
);

-- Events for a webhook, which are its log once they are sent. The id is the same at every
-- attempt. `answer` is the HTTP status of the last answer, `millis` how long it took.
CREATE TABLE webhook_deliveries (
  org BYTEA NOT NULL,
  id BYTEA NOT NULL,
  webhook BYTEA NOT NULL,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  answer BIGINT,
  millis BIGINT,
  reason TEXT NOT NULL DEFAULT '',
  attempted_at BIGINT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org, id),
  FOREIGN KEY (org, webhook) REFERENCES webhooks (org, id) ON DELETE CASCADE
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (org, webhook, state, due_at);
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (org, webhook, id);
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (created_at);
