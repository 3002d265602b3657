//! Writing a backup: one snapshot of all tables, row by row.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use super::catalog::{self, TableColumns};
use super::digest::TableDigest;
use super::error::BackupError;
use super::format::{
    BackupHeader, BackupWriter, FRAME_BYTES, ROWS, TABLE, TABLE_END, TableEnd, TableStart,
};
use super::portable::{self, EventPositions};
use super::{BackupProgress, BackupSummary, rows};
use crate::Store;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::error::{Result, StoreError};
use crate::maintenance::schema;

/// A backup takes longer than a statement may, and waits for the disk that it is written to.
const WITHOUT_TIMEOUTS: &str = "SET LOCAL statement_timeout = 0;
    SET LOCAL idle_in_transaction_session_timeout = 0";

impl Store {
    /// Writes all rows of all tables as they are now, while others write. `program` is the
    /// version of this program and `created_at` the time, for the header of the file.
    pub fn back_up<W, P>(
        &self,
        file: W,
        program: &str,
        created_at: &str,
        progress: P,
    ) -> StoreFuture<BackupSummary>
    where
        W: Write + Send + 'static,
        P: FnMut(BackupProgress<'_>) + Send + 'static,
    {
        let label = (program.to_owned(), created_at.to_owned());
        // A read is not repeated.
        let parts = Mutex::new(Some((file, progress, label)));
        self.read_all_orgs(move |tx| {
            let parts = parts.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some((file, mut progress, (program, created_at))) = parts else {
                return Err(StoreError::Backend("a backup was started twice".into()));
            };
            let schema = schema::version(tx)?;
            schema::check_not_newer(schema, schema::SCHEMA_VERSION)?;
            if schema == 0 {
                return Err(BackupError::NoTables.into());
            }
            let header = BackupHeader::new(program, created_at, schema, tx.is_sqlite());
            dump(tx, BackupWriter::start(file, &header)?, header, &mut progress)
        })
    }
}

fn dump<W: Write>(
    tx: &Tx,
    mut writer: BackupWriter<W>,
    header: BackupHeader,
    progress: &mut dyn FnMut(BackupProgress<'_>),
) -> Result<BackupSummary> {
    lift_timeouts(tx)?;
    let sequences = catalog::sequences(tx)?;
    let (mut tables, mut rows) = (Vec::new(), 0);
    let found = catalog::tables(tx)?;
    let mut positions = EventPositions::read(tx, &found)?;
    for table in found {
        let start = TableStart { name: table.name.clone(), columns: table.columns.clone() };
        writer.json_frame(TABLE, &start)?;
        let mut pending = Vec::new();
        let written = for_each_row(tx, &table, &mut positions, &mut |row| {
            pending.extend(row);
            rows += 1;
            if pending.len() >= FRAME_BYTES {
                writer.frame(ROWS, &pending)?;
                pending.clear();
                progress(BackupProgress { table: &table.name, rows });
            }
            Ok(())
        })?;
        if !pending.is_empty() {
            writer.frame(ROWS, &pending)?;
        }
        let last_event = if table.name == "events" { positions.last() } else { 0 };
        let sequence = sequences.get(&table.name).map(|last| (*last).max(last_event));
        let (rows, digest) = (written.rows, written.hex());
        writer.json_frame(TABLE_END, &TableEnd { rows, digest, sequence })?;
        tables.push((table.name, rows));
    }
    Ok(BackupSummary { header, tables, bytes: writer.end()? })
}

/// Removes the limits that no statement of an operation should reach. SQLite has none.
pub(super) fn lift_timeouts(tx: &Tx) -> Result<()> {
    if tx.is_sqlite() { Ok(()) } else { tx.run_text(WITHOUT_TIMEOUTS) }
}

/// Passes on the rows of a table as bytes, as a backup has them, and returns their digest.
pub(super) fn for_each_row(
    tx: &Tx,
    table: &TableColumns,
    positions: &mut EventPositions,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<TableDigest> {
    let mut digest = TableDigest::default();
    let mut bytes = Vec::new();
    tx.stream(&portable::select(table), &[], &mut |mut row| {
        positions.renumber(table, &mut row)?;
        bytes.clear();
        rows::encode(&row, &mut bytes);
        digest.add(&bytes);
        each(&bytes)
    })?;
    Ok(digest)
}
