//! `ostler backup`: writes all data of a running installation to a file.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::BufWriter;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use ostler_runtime::deps::Clock;
use ostler_store::{BackupSummary, Store};
use serde::Serialize;

use super::args::{InstallationArgs, OutputArgs};
use super::rfc3339;
use crate::installation::Installation;
use crate::screen::{DIM, RowProgress, thousands};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler backup ostler-2026-01-31.backup
  ostler backup --database postgres://localhost/ostler ostler.backup --json

The installation goes on working meanwhile. The file has every row of every table as it was
at one moment, with the files of messages. It does not have ostler.toml, the folder secrets/
and environment variables (the database only has references to them), the workspaces of
threads, and what waits on RabbitMQ. It has the hashes of passwords and keys and all that
customers wrote: only its owner may read it.")]
pub(crate) struct BackupArgs {
    /// File to write; it must not exist
    file: PathBuf,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A backup, as JSON.
#[derive(Serialize)]
pub(super) struct BackupReport<'r> {
    file: &'r Path,
    bytes: u64,
    rows: u64,
    tables: usize,
    schema_version: i64,
    created_at: &'r str,
    database: &'r str,
}

impl<'r> BackupReport<'r> {
    pub(super) fn new(file: &'r Path, summary: &'r BackupSummary) -> Self {
        Self {
            file,
            bytes: summary.bytes,
            rows: summary.rows(),
            tables: summary.tables.len(),
            schema_version: summary.header.schema,
            created_at: &summary.header.created_at,
            database: &summary.header.database,
        }
    }
}

pub(crate) async fn run(args: &BackupArgs) -> anyhow::Result<()> {
    let url = Installation::find(&args.installation)?.database();
    // Not `Store::open`: a database can be backed up before it is migrated.
    let store = Store::connect_existing(&url)?;
    let part = PartFile::create(&args.file)?;
    let summary = {
        let progress = RowProgress::new();
        let file = BufWriter::with_capacity(BUFFER_BYTES, part.writer()?);
        let (version, now) = (env!("CARGO_PKG_VERSION"), rfc3339(Clock::system().now()));
        store.back_up(file, version, &now, move |at| progress.show(at.table, at.rows)).await?
    };
    part.finish()?;
    if args.output.json {
        return super::print_json(&BackupReport::new(&args.file, &summary));
    }
    print(&args.file, &summary);
    Ok(())
}

/// Enough for the pages of a disk.
const BUFFER_BYTES: usize = 1 << 20;
/// Readable and writable for the owner, closed to all others.
const OWNER_ONLY: u32 = 0o600;

/// The file while it is written, under another name. It gets its name when it is whole and
/// on the disk, and is deleted if it never is.
struct PartFile {
    file: File,
    part: PathBuf,
    path: PathBuf,
}

impl PartFile {
    fn create(path: &Path) -> anyhow::Result<Self> {
        if path.symlink_metadata().is_ok() {
            bail!("{} exists already; name a new file", path.display());
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(OWNER_ONLY);
        let open = || {
            let file = options.open(&part)?;
            file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
            Ok::<_, std::io::Error>(file)
        };
        let file = open().with_context(|| format!("cannot write {}", part.display()))?;
        Ok(Self { file, part, path: path.to_owned() })
    }

    fn writer(&self) -> anyhow::Result<File> {
        Ok(self.file.try_clone()?)
    }

    /// Gives the file its name.
    fn finish(self) -> anyhow::Result<()> {
        let finish = || {
            self.file.sync_all()?;
            fs::rename(&self.part, &self.path)?;
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        };
        finish().with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // What is left of it can only be deleted by hand.
        let _ = fs::remove_file(&self.part);
    }
}

fn print(file: &Path, summary: &BackupSummary) {
    let (rows, tables) = (thousands(summary.rows()), summary.tables.len());
    let (bytes, schema) = (thousands(summary.bytes), summary.header.schema);
    anstream::println!(
        "{}: {rows} rows of {tables} tables, {bytes} bytes, schema version {schema}",
        file.display()
    );
    anstream::println!(
        "{DIM}Copy ostler.toml and secrets/ with it: the database only has references to \
         secrets.\nRestore it with `ostler restore {}`.{DIM:#}",
        file.display()
    );
}
