-- What names a contact while it is being deleted, as a JSON list of texts; NULL once the
-- deletion has finished.
ALTER TABLE erasures ADD COLUMN markers TEXT;
