-- Row-level security, applied after every migration. A transaction sees the rows of
-- the org named in `ostler.scope`, all rows if that is `all`, and none if it is
-- empty. `ostler.other_orgs` names further orgs, separated by commas, where one
-- org pays for another. Superusers bypass it.

CREATE OR REPLACE FUNCTION scope_is_all() RETURNS BOOLEAN LANGUAGE sql STABLE
  AS $$ SELECT coalesce(current_setting('ostler.scope', true), '') = 'all' $$;

CREATE OR REPLACE FUNCTION scope_org() RETURNS BYTEA LANGUAGE sql STABLE
  AS $$ SELECT CASE WHEN scope_is_all() THEN NULL
        ELSE decode(nullif(current_setting('ostler.scope', true), ''), 'hex') END $$;

CREATE OR REPLACE FUNCTION scope_other_orgs() RETURNS BYTEA[] LANGUAGE sql STABLE
  AS $$ SELECT coalesce(array_agg(decode(org, 'hex')), '{}')
        FROM unnest(string_to_array(nullif(current_setting('ostler.other_orgs', true), ''), ',')) org $$;

DO $$
DECLARE
  guarded RECORD;
BEGIN
  FOR guarded IN
    SELECT table_name::text AS name, column_name::text AS owner FROM information_schema.columns
    WHERE table_schema = current_schema()
      AND (column_name = 'org' OR (table_name = 'orgs' AND column_name = 'id'))
      AND NOT EXISTS (SELECT 1 FROM pg_policies
                      WHERE schemaname = current_schema() AND tablename = table_name
                        AND qual LIKE '%scope_other_orgs%')
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded.name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', guarded.name);
    EXECUTE format('DROP POLICY IF EXISTS tenant ON %I', guarded.name);
    EXECUTE format(
      'CREATE POLICY tenant ON %1$I USING ((SELECT scope_is_all())
         OR %2$I = (SELECT scope_org())
         OR %2$I = ANY ((SELECT scope_other_orgs())::bytea[]))',
      guarded.name, guarded.owner);
  END LOOP;
END $$;
