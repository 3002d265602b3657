//! `ostler contact export`. Pages are written as they are read, so memory does not
//! limit the length of a history.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write, stdout};
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use ostler_domain::message::Attachment;
use ostler_store::{ContactExport, ExportedItem, OrgStore, PersonalDataKind};

use super::ContactArgs;

#[derive(Debug, Args)]
pub(crate) struct ContactExportArgs {
    #[command(flatten)]
    contact: ContactArgs,
    /// Write to this file, readable only by you, instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also write the attached files into this folder
    #[arg(long, value_name = "FOLDER")]
    files: Option<PathBuf>,
}

pub(super) async fn run(args: &ContactExportArgs) -> anyhow::Result<()> {
    let (operator, org) = super::open(&args.contact).await?;
    let operations = operator.org(&org);
    // Fails for an unknown person before a file is created.
    let person = operations.find_person_by_beginning(&args.contact.contact).await?;
    let export = operations.export_person(&person).await?;
    let (store, name) = (operator.store.org(org.id), person.reference());
    match &args.out {
        None => write(store, &name, export, args, &mut stdout().lock()).await,
        Some(path) => {
            write(store, &name, export, args, &mut BufWriter::new(create_private(path)?)).await
        }
    }
}

/// Creates a file that only its owner can read.
fn create_private(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).with_context(|| format!("cannot write {}", path.display()))
}

async fn write(
    org: OrgStore<'_>,
    person: &str,
    mut export: ContactExport<'_>,
    args: &ContactExportArgs,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let person = serde_json::to_string(person)?;
    write!(out, "{{\"org\":\"{}\",\"contact\":{person},\"entries\":[", org.id())?;
    let mut separator = "\n";
    while let Some(page) = export.next_page().await? {
        for entry in &page {
            out.write_all(separator.as_bytes())?;
            serde_json::to_writer(&mut *out, entry)?;
            separator = ",\n";
            if let Some(folder) = &args.files {
                save_file(org, entry, folder).await?;
            }
        }
    }
    writeln!(out, "\n]}}")?;
    Ok(out.flush()?)
}

/// Writes an attached file under its id, which is a safe file name.
async fn save_file(org: OrgStore<'_>, entry: &ExportedItem, folder: &Path) -> anyhow::Result<()> {
    if entry.kind != PersonalDataKind::File {
        return Ok(());
    }
    let Attachment { blob, .. } = serde_json::from_value(entry.value.clone())?;
    let bytes = org.blob(blob).await?.bytes;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    create_private(&folder.join(blob.to_string()))?.write_all(&bytes)?;
    Ok(())
}
