-- What is needed to find all that an org keeps of one person, to hand it over
-- and to delete it.

-- Whom a conversation is with, in the form that every spelling of a name has in
-- common; a key is found by its exact spelling only. The form has no white
-- space, so that what stands here with one is no person: `group bnd_…` is a
-- group on a binding, `erasing con_…` somebody who is being deleted.
CREATE TABLE conversation_people (
  org BLOB NOT NULL,
  person TEXT NOT NULL,
  conversation BLOB NOT NULL,
  PRIMARY KEY (org, person, conversation)
) WITHOUT ROWID;
INSERT INTO conversation_people (org, person, conversation)
  SELECT org, CASE WHEN peer LIKE 'g:%' THEN 'group ' || substr(key, 1, 30)
    ELSE upper(replace(replace(substr(peer, 3), ' ', ''), char(9), '')) END, id
  FROM (SELECT org, id, key, substr(key, 32 + instr(substr(key, 32), '/')) AS peer
        FROM conversations) AS keys;

-- Which conversations refer to a blob: it goes with the last of them.
CREATE TABLE blob_uses (
  org BLOB NOT NULL,
  conversation BLOB NOT NULL,
  blob BLOB NOT NULL,
  PRIMARY KEY (org, conversation, blob)
) WITHOUT ROWID;
CREATE INDEX blob_uses_of ON blob_uses (org, blob);

-- Contacts that were deleted, or are being deleted if no end is there.
CREATE TABLE erasures (
  org BLOB NOT NULL REFERENCES orgs (id),
  contact BLOB NOT NULL,
  begun_at BIGINT NOT NULL,
  finished_at BIGINT,
  PRIMARY KEY (org, contact)
) WITHOUT ROWID;

CREATE INDEX inbox_of ON inbox (org, conversation, id);
CREATE INDEX outbox_of ON outbox (org, conversation, id);
CREATE INDEX journal_in ON journal (org, conversation, id);
CREATE INDEX events_in ON events (org, session, id) WHERE session IS NOT NULL;
CREATE INDEX decisions_about ON decisions (org, kind, subject, id);
CREATE INDEX notices_about ON notices (org, subject, id);
