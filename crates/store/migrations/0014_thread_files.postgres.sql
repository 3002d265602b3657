-- Images of threads, to which messages refer. `media` is JSON: type, name and size.
CREATE TABLE harness_files (
  org BYTEA NOT NULL,
  thread BYTEA NOT NULL,
  file TEXT NOT NULL,
  media TEXT NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (org, thread, file)
);
