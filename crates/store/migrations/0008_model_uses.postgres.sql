-- How often each model was asked by all processes of the installation.
CREATE TABLE model_uses (
  model TEXT PRIMARY KEY NOT NULL,
  uses BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL
);
