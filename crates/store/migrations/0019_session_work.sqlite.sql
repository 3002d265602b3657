-- What people do with a session besides answering: who looks after it, what they note
-- for each other, and how far each of them has read. It goes with the session.
CREATE TABLE session_assignments (
  org BLOB NOT NULL,
  session BLOB NOT NULL,
  user_id BLOB NOT NULL,
  assigned_by BLOB NOT NULL,
  assigned_at BIGINT NOT NULL,
  PRIMARY KEY (org, session),
  FOREIGN KEY (org, session) REFERENCES sessions (org, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX session_assignments_by_user ON session_assignments (org, user_id, session);

-- Notes of people about a session, which neither the customer nor a model reads.
CREATE TABLE session_notes (
  org BLOB NOT NULL,
  session BLOB NOT NULL,
  id BLOB NOT NULL,
  author BLOB NOT NULL,
  text TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org, session, id),
  FOREIGN KEY (org, session) REFERENCES sessions (org, id) ON DELETE CASCADE
) WITHOUT ROWID;

-- The last message of a session's thread that a person has read.
CREATE TABLE session_read_marks (
  org BLOB NOT NULL,
  session BLOB NOT NULL,
  user_id BLOB NOT NULL,
  seq BIGINT NOT NULL,
  read_at BIGINT NOT NULL,
  PRIMARY KEY (org, session, user_id),
  FOREIGN KEY (org, session) REFERENCES sessions (org, id) ON DELETE CASCADE
) WITHOUT ROWID;
