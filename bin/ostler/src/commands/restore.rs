//! `ostler restore`: fills an empty database from a backup.

use std::path::{Path, PathBuf};

use clap::Args;
use ostler_store::{SCHEMA_VERSION, Store};

use super::args::{InstallationArgs, OutputArgs};
use super::backup::BackupReport;
use crate::installation::Installation;
use crate::screen::{DIM, RowProgress, thousands};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler restore ostler.backup --database sqlite:new.db
  ostler restore ostler.backup --database postgres://ostler@localhost/ostler

The database may be SQLite or PostgreSQL, whichever the backup was made of; it must be empty.
The file is checked first, and what was written is read back and compared; if anything is
wrong, nothing is kept. A backup of an older version is brought up to date. Messages that
were not sent when the backup was made are sent when the server starts.")]
pub(crate) struct RestoreArgs {
    /// Backup to restore
    file: PathBuf,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: &RestoreArgs) -> anyhow::Result<()> {
    let installation = Installation::find(&args.installation)?;
    let new_file = installation.database_file().filter(|path| !path.exists());
    let store = Store::connect(&installation.database())?;
    let progress = RowProgress::new();
    let show = move |at: ostler_store::BackupProgress<'_>| progress.show(at.table, at.rows);
    let restored = store.restore(args.file.clone(), show).await;
    if restored.is_err() {
        new_file.iter().for_each(|path| remove_database(path));
    }
    let summary = restored?;
    store.empty_log().await?;
    if args.output.json {
        return super::print_json(&BackupReport::new(&args.file, &summary));
    }
    let header = &summary.header;
    let (rows, tables) = (thousands(summary.rows()), summary.tables.len());
    anstream::println!("restored and compared {rows} rows of {tables} tables");
    anstream::println!(
        "{DIM}from a backup of {} made {}{DIM:#}",
        header.database,
        header.created_at
    );
    if header.schema < SCHEMA_VERSION {
        anstream::println!("migrated from schema version {} to {SCHEMA_VERSION}", header.schema);
    }
    anstream::println!(
        "{DIM}Put ostler.toml and secrets/ in place, then `ostler doctor` says what is \
         missing.{DIM:#}"
    );
    Ok(())
}

/// Removes the files of a new SQLite database, which has nothing in it.
fn remove_database(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(end);
        // What is left is empty.
        let _ = std::fs::remove_file(file);
    }
}
