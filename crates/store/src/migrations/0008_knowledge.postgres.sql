-- Documents of an org. They are found by words that the program makes, in an
-- index that begins with the org: the full-text indexes of the databases differ
-- in what they call a word, rank one org's documents by those of others, and
-- PostgreSQL does not use its own under row-level security.

CREATE TABLE documents (
  org BYTEA NOT NULL REFERENCES orgs (id),
  id BYTEA NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  title TEXT NOT NULL,
  tags TEXT NOT NULL,
  size BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX documents_newest ON documents (org, updated_at, id);

CREATE TABLE document_tags (
  org BYTEA NOT NULL,
  tag TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  document BYTEA NOT NULL,
  PRIMARY KEY (org, tag, updated_at, document)
);
CREATE INDEX document_tags_of ON document_tags (org, document);

CREATE TABLE document_words (
  org BYTEA NOT NULL,
  word TEXT NOT NULL,
  weight BIGINT NOT NULL,
  document BYTEA NOT NULL,
  PRIMARY KEY (org, word, weight, document)
);
CREATE INDEX document_words_of ON document_words (org, document);
