-- Lets a statement give its transaction up, so that a commit can travel together
-- with the statements whose success it depends on.

CREATE FUNCTION refuse(why TEXT) RETURNS BIGINT LANGUAGE plpgsql
  AS $$ BEGIN RAISE EXCEPTION USING MESSAGE = why, ERRCODE = 'OS001'; END $$;
