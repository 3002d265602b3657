//! The tables of a database, read from the database itself.

use std::collections::BTreeMap;

use crate::backend::Tx;
use crate::backend::sql::Sql;
use crate::error::Result;

/// The table with the versions of the schema; a restore writes it by migrating.
pub(super) const SCHEMA_TABLE: &str = "schema_migrations";

const COLUMNS: Sql = Sql {
    sqlite: "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid",
    postgres: r#"SELECT table_name::text, column_name::text FROM information_schema.columns
       WHERE table_schema = current_schema()
       ORDER BY table_name::text COLLATE "C", ordinal_position"#,
};
/// Tables and the tables that their foreign keys refer to.
const REFERENCES: Sql = Sql {
    sqlite: r#"SELECT t.name, f."table" FROM sqlite_master t, pragma_foreign_key_list(t.name) f
       WHERE t.type = 'table'"#,
    postgres: "SELECT child.relname::text, parent.relname::text FROM pg_constraint f
       JOIN pg_class child ON child.oid = f.conrelid
       JOIN pg_class parent ON parent.oid = f.confrelid
       WHERE f.contype = 'f' AND child.relnamespace = current_schema()::text::regnamespace",
};
/// The last number that each table with numbered rows gave to a row.
const SEQUENCES: Sql = Sql {
    sqlite: "SELECT name, seq FROM sqlite_sequence",
    postgres: "SELECT t.relname::text, coalesce(p.last_value, 0) FROM pg_class s
       JOIN pg_depend d ON d.objid = s.oid AND d.deptype = 'i'
         AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
       JOIN pg_class t ON t.oid = d.refobjid
       JOIN pg_sequences p ON p.schemaname = current_schema() AND p.sequencename = s.relname
       WHERE s.relkind = 'S' AND s.relnamespace = current_schema()::text::regnamespace",
};

/// A table and its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableColumns {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
}

/// Returns all tables but [`SCHEMA_TABLE`], each after those that it refers to.
pub(super) fn tables(tx: &Tx) -> Result<Vec<TableColumns>> {
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in tx.query(&COLUMNS, &[])? {
        columns.entry(row.text(0)?.to_owned()).or_default().push(row.text(1)?.to_owned());
    }
    columns.remove(SCHEMA_TABLE);
    let mut references = Vec::new();
    for row in tx.query(&REFERENCES, &[])? {
        references.push((row.text(0)?.to_owned(), row.text(1)?.to_owned()));
    }
    let names = parents_first(columns.keys().cloned().collect(), &references);
    let table = |name: String| Some(TableColumns { columns: columns.remove(&name)?, name });
    Ok(names.into_iter().filter_map(table).collect())
}

/// Returns the last given number of each table with numbered rows.
pub(super) fn sequences(tx: &Tx) -> Result<BTreeMap<String, i64>> {
    let rows = tx.query(&SEQUENCES, &[])?;
    rows.iter().map(|row| Ok((row.text(0)?.to_owned(), row.int(1)?))).collect()
}

/// Orders names so that each stands after those that it refers to. Those that refer to each
/// other in a circle come last.
fn parents_first(mut names: Vec<String>, references: &[(String, String)]) -> Vec<String> {
    let mut ordered: Vec<String> = Vec::new();
    loop {
        let (ready, waiting): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| {
            let mut parents = references.iter().filter(|(child, _)| child == name);
            parents.all(|(_, parent)| parent == name || ordered.contains(parent))
        });
        let stuck = ready.is_empty();
        ordered.extend(ready);
        if stuck {
            ordered.extend(waiting);
            return ordered;
        }
        names = waiting;
    }
}

/// Returns an identifier in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns identifiers in quotes, separated by commas.
pub(super) fn quoted_list(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::parents_first;

    #[test]
    fn tables_stand_after_those_that_they_refer_to() {
        let check = |names: &str, references: &[(&str, &str)], expected: &str| {
            let names = names.split(' ').map(str::to_owned).collect();
            let references = references.iter();
            let references = references.map(|(child, parent)| ((*child).into(), (*parent).into()));
            let ordered = parents_first(names, &references.collect::<Vec<_>>());
            assert_eq!(ordered.join(" "), expected);
        };
        check("a b c", &[], "a b c");
        check("a b c", &[("a", "b"), ("b", "c")], "c b a");
        check("a b", &[("a", "a"), ("b", "a")], "a b");
        check("a b c", &[("a", "b"), ("b", "a")], "c a b");
    }
}
