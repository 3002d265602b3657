-- Messages lie in the order in which they were written, and are found by an
-- index: in the order of their threads, a new one in the middle of all others
-- moved three pages each time.
ALTER TABLE messages RENAME TO messages_before;
CREATE TABLE messages (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  seq BIGINT NOT NULL,
  id BLOB NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (org, thread, seq)
);
INSERT INTO messages (org, thread, seq, id, data)
  SELECT org, thread, seq, id, data FROM messages_before ORDER BY id;
DROP TABLE messages_before;
