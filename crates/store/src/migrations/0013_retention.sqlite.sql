-- What is needed to find what is dead or over, and to delete it.
--
-- The inbox and the outbox keep the time in `due_at`: from when on a row can be
-- tried and, once nothing is tried any more, when that was. Only sessions need a
-- time of their own. It is set here and not by a statement, so that it is there
-- whoever closes them; of those that are closed already it is not known, and
-- they count from now.

ALTER TABLE sessions ADD COLUMN closed_at BIGINT NOT NULL DEFAULT 0;
UPDATE sessions SET closed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
WHERE status LIKE 'closed%';
CREATE INDEX sessions_closed ON sessions (org, closed_at, id) WHERE closed_at > 0;

CREATE TRIGGER session_begins AFTER INSERT ON sessions WHEN NEW.status LIKE 'closed%'
BEGIN
  UPDATE sessions SET closed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE org = NEW.org AND id = NEW.id;
END;
CREATE TRIGGER session_is_over AFTER UPDATE OF status ON sessions
WHEN (NEW.status LIKE 'closed%') <> (NEW.closed_at > 0)
BEGIN
  UPDATE sessions SET closed_at = CASE
    WHEN NEW.status LIKE 'closed%' THEN CAST(unixepoch('subsec') * 1000 AS INTEGER) ELSE 0 END
  WHERE org = NEW.org AND id = NEW.id;
END;

CREATE INDEX inbox_dead ON inbox (org, id) WHERE state = 'dead';
CREATE INDEX outbox_aside ON outbox (org, id) WHERE state IN ('dead', 'unknown');

-- The last event of an org that was pruned: a reader who is behind it has
-- missed something.
CREATE TABLE event_floors (
  org BLOB PRIMARY KEY NOT NULL,
  xid BIGINT NOT NULL,
  id BIGINT NOT NULL
) WITHOUT ROWID;
