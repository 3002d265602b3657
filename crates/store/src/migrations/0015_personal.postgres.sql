-- What is needed to find all that an org keeps of one person, to hand it over
-- and to delete it.

-- Whom a conversation is with, in the form that every spelling of a name has in
-- common; a key is found by its exact spelling only. The form has no white
-- space, so that what stands here with one is no person: `group bnd_…` is a
-- group on a binding, `erasing con_…` somebody who is being deleted.
CREATE TABLE conversation_people (
  org BYTEA NOT NULL,
  person TEXT NOT NULL,
  conversation BYTEA NOT NULL,
  PRIMARY KEY (org, person, conversation)
);
INSERT INTO conversation_people (org, person, conversation)
  SELECT org, CASE WHEN peer LIKE 'g:%' THEN 'group ' || substr(key, 1, 30)
    ELSE upper(lower(regexp_replace(substr(peer, 3), '\s', '', 'g'))) END, id
  FROM (SELECT org, id, key, substr(key, 32 + strpos(substr(key, 32), '/')) AS peer
        FROM conversations) AS keys;

-- Which conversations refer to a blob: it goes with the last of them.
CREATE TABLE blob_uses (
  org BYTEA NOT NULL,
  conversation BYTEA NOT NULL,
  blob BYTEA NOT NULL,
  PRIMARY KEY (org, conversation, blob)
);
CREATE INDEX blob_uses_of ON blob_uses (org, blob);

-- Contacts that were deleted, or are being deleted if no end is there.
CREATE TABLE erasures (
  org BYTEA NOT NULL REFERENCES orgs (id),
  contact BYTEA NOT NULL,
  begun_at BIGINT NOT NULL,
  finished_at BIGINT,
  PRIMARY KEY (org, contact)
);

CREATE INDEX inbox_of ON inbox (org, conversation, id);
CREATE INDEX outbox_of ON outbox (org, conversation, id);
CREATE INDEX journal_in ON journal (org, conversation, id);
CREATE INDEX events_in ON events (org, session, id) WHERE session IS NOT NULL;
CREATE INDEX decisions_about ON decisions (org, kind, subject, id);
-- Subjects are searched by how they begin, which needs the order of the bytes.
CREATE INDEX notices_about ON notices (org, subject COLLATE "C", id);
