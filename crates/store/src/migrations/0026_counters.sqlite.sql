-- One thread writes here, and nobody waits for a counter: all of it is one part.
ALTER TABLE rate_counters ADD COLUMN part BIGINT NOT NULL DEFAULT 0;
