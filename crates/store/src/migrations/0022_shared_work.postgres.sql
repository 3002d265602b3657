-- Whether an agent takes what is meant for any member of its team (1) or only
-- what is addressed to it (0).
ALTER TABLE queue_agents ADD COLUMN shares_work BIGINT NOT NULL DEFAULT 0;
