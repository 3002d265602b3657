-- The circuit breaker of a binding: `failures` in a row since `since`, and whether its
-- messages probe one at a time. `lane` is that of its messages.

DELETE FROM send_pauses;
ALTER TABLE send_pauses ADD COLUMN lane BIGINT NOT NULL DEFAULT 0;
ALTER TABLE send_pauses ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE send_pauses ADD COLUMN is_open BIGINT NOT NULL DEFAULT 0;
ALTER TABLE send_pauses ADD COLUMN since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE send_pauses ADD COLUMN reason TEXT NOT NULL DEFAULT '';
CREATE INDEX send_pauses_by_lane ON send_pauses (lane);
