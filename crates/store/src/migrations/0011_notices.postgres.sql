-- What people and agents are told, the log of who did what, and how much was
-- done in a window of time.

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

-- Until when the same is not said again.
CREATE TABLE notice_cooldowns (
  org BYTEA NOT NULL REFERENCES orgs (id),
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  recipient TEXT NOT NULL,
  quiet_until BIGINT NOT NULL,
  PRIMARY KEY (org, kind, subject, recipient)
);
CREATE INDEX notice_cooldowns_over ON notice_cooldowns (quiet_until);

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
CREATE INDEX audit_of ON audit (org, subject, id);

-- `span` is the length of the window and `ends_at` its end.
CREATE TABLE rate_counters (
  org BYTEA NOT NULL REFERENCES orgs (id),
  what TEXT NOT NULL,
  span BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  used BIGINT NOT NULL,
  PRIMARY KEY (org, what, span, ends_at)
);
CREATE INDEX rate_counters_over ON rate_counters (ends_at);
