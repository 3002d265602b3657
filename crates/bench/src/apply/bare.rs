//! The limit: the bare driver inserts the rows that an apply has stored into the same
//! tables, in one transaction for each org.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use ostler_store::Store;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::BenchError;

/// A row and the statement that inserts it.
type BareRow = (String, Vec<Value>);

/// Returns the orgs per second.
pub(super) async fn orgs_per_second(stored: &Path, bare: &Path) -> Result<f64, BenchError> {
    Store::connect(&format!("sqlite:{}", bare.display()))?.migrate().await?;
    let rows = read(&Connection::open(stored)?)?;
    let mut connection = Connection::open(bare)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(64);
    let start = Instant::now();
    for rows in rows.values() {
        let transaction = connection.transaction()?;
        for (sql, values) in rows {
            let mut statement = transaction.prepare_cached(sql)?;
            statement.execute(rusqlite::params_from_iter(values))?;
        }
        transaction.commit()?;
    }
    Ok(rows.len() as f64 / start.elapsed().as_secs_f64())
}

/// Reads the rows of all tables that belong to an org, by org.
fn read(connection: &Connection) -> Result<BTreeMap<Vec<u8>, Vec<BareRow>>, BenchError> {
    let mut tables = connection.prepare(
        "SELECT m.name, min(c.cid) FROM sqlite_master m JOIN pragma_table_info(m.name) c
         WHERE m.type = 'table' AND (c.name = 'org' OR (m.name = 'orgs' AND c.name = 'id'))
         GROUP BY m.name ORDER BY m.name <> 'orgs', m.name",
    )?;
    let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let tables: Vec<(String, u32)> = tables.collect::<Result<_, _>>()?;
    let mut all: BTreeMap<Vec<u8>, Vec<BareRow>> = BTreeMap::new();
    for (table, org) in tables {
        let mut select = connection.prepare(&format!("SELECT * FROM {table}"))?;
        let columns = select.column_count();
        let places = vec!["?"; columns].join(", ");
        let sql = format!("INSERT INTO {table} VALUES ({places})");
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let values: Vec<Value> =
                (0..columns).map(|column| row.get(column)).collect::<Result<_, _>>()?;
            if let Some(Value::Blob(org)) = values.get(org as usize) {
                all.entry(org.clone()).or_default().push((sql.clone(), values));
            }
        }
    }
    Ok(all)
}
