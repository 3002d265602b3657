//! Restoring a backup into an empty database, in one transaction.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::catalog::{self, TableColumns, quoted, quoted_list};
use super::digest::TableDigest;
use super::dump::{for_each_row, lift_timeouts};
use super::error::BackupError;
use super::format::{
    self, BackupHeader, END, ROWS, TABLE, TABLE_END, TableEnd, TableStart, read_frame,
};
use super::portable::EventPositions;
use super::triggers::DisabledTriggers;
use super::{BackupProgress, BackupSummary, rows};
use crate::Store;
use crate::backend::Tx;
use crate::backend::value::Value;
use crate::error::{Result, StoreError};
use crate::maintenance::schema::{self, MIGRATIONS};

/// Tables in which a new schema has rows of its own. The backup has them too.
const SEEDED: [&str; 2] = ["config_versions", "change_counters"];
/// Enough for the pages of a disk.
const BUFFER_BYTES: usize = 1 << 20;

impl Store {
    /// Restores a backup into this database, which must have no rows, and brings its schema
    /// up to date. The file is checked as a whole before anything is written; what is
    /// written is read back and compared. Fails without changing anything.
    pub async fn restore<P>(&self, path: PathBuf, progress: P) -> Result<BackupSummary>
    where
        P: FnMut(BackupProgress<'_>) + Send + 'static,
    {
        let file = path.clone();
        let checked = tokio::task::spawn_blocking(move || format::check(&mut open(&file)?));
        checked.await.map_err(|error| StoreError::Backend(error.to_string()))??;
        let progress = Mutex::new(progress);
        let restored = self.write_all_orgs(move |tx| {
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            load(tx, &path, &mut *progress)
        });
        restored.await
    }
}

fn open(path: &Path) -> std::result::Result<BufReader<File>, BackupError> {
    let file = File::open(path).map_err(BackupError::Read)?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, file))
}

fn load(
    tx: &Tx,
    path: &Path,
    progress: &mut dyn FnMut(BackupProgress<'_>),
) -> Result<BackupSummary> {
    let mut file = open(path)?;
    let header = BackupHeader::read(&mut file)?;
    check_empty(tx, &header)?;
    lift_timeouts(tx)?;
    let version = usize::try_from(header.schema).unwrap_or(usize::MAX);
    let migrations = MIGRATIONS.get(..version).unwrap_or(MIGRATIONS);
    schema::migrate(tx, migrations)?;
    let tables = catalog::tables(tx)?;
    let triggers = DisabledTriggers::disable(tx, &tables)?;
    for table in tables.iter().rev() {
        tx.run_text(&format!("DELETE FROM {}", quoted(&table.name)))?;
    }
    let mut loader = Loader { tx, file, rows: 0, progress };
    let loaded = loader.load_tables(&tables)?;
    triggers.enable(tx)?;
    schema::migrate(tx, MIGRATIONS)?;
    let bytes = path.metadata().map_err(BackupError::Read)?.len();
    Ok(BackupSummary { header, tables: loaded, bytes })
}

/// Fails unless the database has no rows, and no tables that are newer than the backup.
fn check_empty(tx: &Tx, header: &BackupHeader) -> Result<()> {
    let found = schema::version(tx)?;
    for table in catalog::tables(tx)? {
        if SEEDED.contains(&table.name.as_str()) {
            continue;
        }
        let mut has_rows = false;
        let first = format!("SELECT 1 FROM {} LIMIT 1", quoted(&table.name));
        tx.stream(&first, &[], &mut |_| {
            has_rows = true;
            Ok(())
        })?;
        if has_rows {
            return Err(BackupError::NotEmpty { table: table.name }.into());
        }
    }
    if found > header.schema {
        return Err(BackupError::NewerTables { found, backup: header.schema }.into());
    }
    Ok(())
}

/// Loads the tables of a backup.
struct Loader<'l, 't, 'c, R> {
    tx: &'l Tx<'t, 'c>,
    file: R,
    rows: u64,
    progress: &'l mut dyn FnMut(BackupProgress<'_>),
}

impl<R: Read> Loader<'_, '_, '_, R> {
    /// Loads all tables, which are those of the schema, and returns their rows.
    fn load_tables(&mut self, known: &[TableColumns]) -> Result<Vec<(String, u64)>> {
        let mut waiting: BTreeMap<&str, &TableColumns> =
            known.iter().map(|table| (table.name.as_str(), table)).collect();
        let mut loaded = Vec::new();
        loop {
            let (kind, payload) = read_frame(&mut self.file)?;
            match kind {
                TABLE => {
                    let start: TableStart = from_json(&payload)?;
                    let of_schema = waiting.remove(start.name.as_str());
                    let table = matching(of_schema, start)?;
                    let rows = self.load_table(&table)?;
                    loaded.push((table.name, rows));
                }
                END => break,
                _ => return Err(BackupError::damaged("a frame is out of place").into()),
            }
        }
        match waiting.keys().next() {
            Some(name) => Err(BackupError::damaged(format!("it has no table `{name}`")).into()),
            None => Ok(loaded),
        }
    }

    /// Loads the rows of a table, and compares what is stored with what was loaded.
    fn load_table(&mut self, table: &TableColumns) -> Result<u64> {
        let (insert, mut digest) = (self.insert(table), TableDigest::default());
        let end: TableEnd = loop {
            let (kind, payload) = read_frame(&mut self.file)?;
            match kind {
                ROWS => {
                    let rows = decode_rows(&payload, table.columns.len(), &mut digest)?;
                    self.tx.execute_rows(&insert, &rows)?;
                    self.rows += rows.len() as u64;
                    (self.progress)(BackupProgress { table: &table.name, rows: self.rows });
                }
                TABLE_END => break from_json(&payload)?,
                _ => return Err(BackupError::damaged("a table has no end").into()),
            }
        };
        // What is restored has its positions already.
        let mut positions = EventPositions::default();
        let stored = for_each_row(self.tx, table, &mut positions, &mut |_| Ok(()))?;
        if (end.rows, &end.digest) != (digest.rows, &digest.hex()) || stored != digest {
            return Err(BackupError::Differs { table: table.name.clone() }.into());
        }
        if let Some(last) = end.sequence.filter(|last| *last > 0) {
            self.set_sequence(&table.name, last)?;
        }
        Ok(digest.rows)
    }

    fn insert(&self, table: &TableColumns) -> String {
        let (sign, overriding) =
            if self.tx.is_sqlite() { ("?", "") } else { ("$", "OVERRIDING SYSTEM VALUE ") };
        let values = (1..=table.columns.len()).map(|number| format!("{sign}{number}"));
        let values = values.collect::<Vec<_>>().join(", ");
        let (name, columns) = (quoted(&table.name), quoted_list(&table.columns));
        format!("INSERT INTO {name} ({columns}) {overriding}VALUES ({values})")
    }

    /// Sets the last number that a table gave to a row.
    fn set_sequence(&self, table: &str, last: i64) -> Result<()> {
        // The name is one of the schema's, so it has no quotes.
        self.tx.run_text(&if self.tx.is_sqlite() {
            format!(
                "DELETE FROM sqlite_sequence WHERE name = '{table}';
                 INSERT INTO sqlite_sequence (name, seq) VALUES ('{table}', {last})"
            )
        } else {
            format!("SELECT setval(pg_get_serial_sequence('{table}', 'id'), {last})")
        })
    }
}

/// Returns a table of a backup if the schema has it with the same columns.
fn matching(of_schema: Option<&TableColumns>, start: TableStart) -> Result<TableColumns> {
    let sorted = |columns: &[String]| {
        let mut columns = columns.to_vec();
        columns.sort();
        columns
    };
    match of_schema {
        Some(table) if sorted(&table.columns) == sorted(&start.columns) => {
            Ok(TableColumns { name: start.name, columns: start.columns })
        }
        _ => {
            let why = format!("its table `{}` is not one of its schema version", start.name);
            Err(BackupError::damaged(why).into())
        }
    }
}

fn decode_rows(
    mut bytes: &[u8],
    columns: usize,
    digest: &mut TableDigest,
) -> Result<Vec<Vec<Value>>> {
    let mut decoded = Vec::new();
    while !bytes.is_empty() {
        let all = bytes;
        decoded.push(rows::decode(&mut bytes, columns)?);
        digest.add(&all[..all.len() - bytes.len()]);
    }
    Ok(decoded)
}

fn from_json<T: serde::de::DeserializeOwned>(payload: &[u8]) -> Result<T> {
    let read = serde_json::from_slice(payload);
    read.map_err(|error| BackupError::damaged(error.to_string()).into())
}
