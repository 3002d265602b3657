-- An approved call that is not made in time expires as well.

DROP INDEX decisions_due;
CREATE INDEX decisions_expiry ON decisions (kind, state, expires_at);
