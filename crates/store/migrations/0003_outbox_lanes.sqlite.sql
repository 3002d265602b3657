-- A lane is an org and the binding that a message is sent through: their ids as 32
-- bytes, or the org's alone. Senders claim fairly among lanes, so that a slow
-- receiver delays its own messages only.

ALTER TABLE outbox ADD COLUMN lane BLOB NOT NULL DEFAULT x'';
UPDATE outbox SET lane = org;

DROP INDEX outbox_due;
DROP INDEX outbox_sending;
CREATE INDEX outbox_due ON outbox (lane, due_at, id) WHERE state = 'pending';
CREATE INDEX outbox_sending ON outbox (lane) WHERE state = 'sending';
