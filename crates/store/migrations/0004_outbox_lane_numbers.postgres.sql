-- A lane is a number instead of the two ids that it is made of: every message of an
-- agent writes it into the table and two indexes. Messages that wait already share
-- the lane 0 until they are sent.

DROP INDEX outbox_due;
DROP INDEX outbox_sending;
ALTER TABLE outbox DROP COLUMN lane;
ALTER TABLE outbox ADD COLUMN lane BIGINT NOT NULL DEFAULT 0;
CREATE INDEX outbox_due ON outbox (lane, due_at, id) WHERE state = 'pending';
CREATE INDEX outbox_sending ON outbox (lane) WHERE state = 'sending';
