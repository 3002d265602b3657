-- How far a message is on its way out, as JSON, and when a dead letter is tried
-- again by itself.
ALTER TABLE outbox ADD COLUMN progress TEXT;
ALTER TABLE outbox ADD COLUMN retry_at BIGINT;
CREATE INDEX outbox_retry ON outbox (retry_at) WHERE state = 'dead' AND retry_at IS NOT NULL;

-- Bindings whose provider asked to be left alone for a while.
CREATE TABLE send_holds (
  org BYTEA NOT NULL,
  binding BYTEA NOT NULL,
  held_until BIGINT NOT NULL,
  PRIMARY KEY (org, binding)
);

-- What the org's own people were told of a conversation, and where: whoever
-- replies there means that conversation.
CREATE TABLE announcements (
  org BYTEA NOT NULL,
  binding BYTEA NOT NULL,
  chat TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  conversation BYTEA NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (org, binding, chat, provider_id)
);
CREATE INDEX announcements_at ON announcements (org, binding, chat, at);
CREATE INDEX announcements_of ON announcements (org, conversation);
