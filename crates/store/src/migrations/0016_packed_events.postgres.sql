-- Fewer rows for each turn: what happened in one commit is one row of events.
--
-- `data` is all of its events, `count` how many they are, and `id` the number of
-- the last one; the others have the numbers before it. Events are found by their
-- run, whose ids grow, and no longer by their session, which would touch another
-- page for each one. Of older events only the session is known: any of its runs
-- leads to them.
DROP INDEX events_in;
DROP INDEX events_of;
ALTER TABLE events ADD COLUMN run BYTEA;
ALTER TABLE events ADD COLUMN count BIGINT NOT NULL DEFAULT 1;

CREATE FUNCTION pack_event(kind TEXT, data TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM data::json;
  RETURN '[{"kind":' || to_json(kind) || ',"data":' || data || '}]';
EXCEPTION WHEN data_exception THEN
  RETURN json_build_array(json_build_object('kind', kind, 'text', data));
END $$;
UPDATE events SET
  run = (SELECT r.id FROM runs r WHERE r.org = events.org AND r.session = events.session
         ORDER BY r.id LIMIT 1),
  data = pack_event(kind, data);
DROP FUNCTION pack_event(TEXT, TEXT);

ALTER TABLE events DROP COLUMN kind;
ALTER TABLE events DROP COLUMN session;
CREATE INDEX events_of ON events (org, xid, id, count);
CREATE INDEX events_in ON events (org, run) WHERE run IS NOT NULL;

-- What is still to be sent is found by another index.
DROP INDEX outbox_of;
CREATE INDEX outbox_of ON outbox (org, conversation, id)
  WHERE state NOT IN ('pending', 'sending');
