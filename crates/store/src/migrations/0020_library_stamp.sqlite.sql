-- A number that grows whenever a document is added, changed or taken away, so
-- that whoever remembers what the documents say knows when to look again.
INSERT INTO config_stamp (one, stamp) VALUES (2, 1);

CREATE TRIGGER library_added AFTER INSERT ON documents
BEGIN UPDATE config_stamp SET stamp = stamp + 1 WHERE one = 2; END;
CREATE TRIGGER library_changed AFTER UPDATE ON documents
BEGIN UPDATE config_stamp SET stamp = stamp + 1 WHERE one = 2; END;
CREATE TRIGGER library_removed AFTER DELETE ON documents
BEGIN UPDATE config_stamp SET stamp = stamp + 1 WHERE one = 2; END;
