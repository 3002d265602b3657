-- How many reference codes of a UTC day have been handed out to nodes.

CREATE TABLE reference_codes (
  day BIGINT PRIMARY KEY NOT NULL,
  used BIGINT NOT NULL
) WITHOUT ROWID;
