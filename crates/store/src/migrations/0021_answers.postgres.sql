-- Answers to requests that may be repeated, oldest first: they are forgotten
-- after a while.
CREATE INDEX records_answers ON records (updated_at) WHERE kind = 'idempotency';
