-- A number that grows whenever a document is added, changed or taken away, so
-- that whoever remembers what the documents say knows when to look again.
INSERT INTO config_stamp (one, stamp) VALUES (2, 1);

-- At the end of the transaction, so that the one row is held for a moment only.
CREATE FUNCTION library_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  UPDATE config_stamp SET stamp = stamp + 1 WHERE one = 2;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER library AFTER INSERT OR UPDATE OR DELETE ON documents
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION library_changed();
