-- Images of threads, to which messages refer. `media` is JSON: type, name and size.
CREATE TABLE harness_files (
  org BLOB NOT NULL,
  thread BLOB NOT NULL,
  file TEXT NOT NULL,
  media TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (org, thread, file)
) WITHOUT ROWID;
