-- A turn counts what it did and holds the counter until it is on the disk: all
-- turns of an agent waited for each other. Each connection adds to a part of its
-- own now, and the count is the sum of them; the part 0 is for what has a limit.
ALTER TABLE rate_counters ADD COLUMN part BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rate_counters DROP CONSTRAINT rate_counters_pkey;
ALTER TABLE rate_counters ADD PRIMARY KEY (org, what, span, ends_at, part);
