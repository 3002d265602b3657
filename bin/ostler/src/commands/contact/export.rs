//! `ostler contact export`. Lines are written as they come, so memory does not limit the length
//! of a history.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use ostler_api::contact::{ExportHead, ExportedItem};
use ostler_domain::message::Attachment;

use super::ContactArgs;
use crate::api_client::{LineStream, OrgApi};

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
    let org = super::open(&args.contact).await?;
    // Fails for an unknown person before a file is created.
    let lines = org.lines(&["people", &args.contact.contact, "export"]).await?;
    match &args.out {
        None => write(&org, lines, args, &mut stdout().lock()).await,
        Some(path) => write(&org, lines, args, &mut BufWriter::new(create_private(path)?)).await,
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
    org: &OrgApi,
    mut lines: LineStream,
    args: &ContactExportArgs,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let head = lines.next().await?.context("the answer is empty; try again")?;
    let ExportHead { org: id, contact } = serde_json::from_slice(&head)?;
    let contact = serde_json::to_string(&contact)?;
    write!(out, "{{\"org\":\"{id}\",\"contact\":{contact},\"entries\":[")?;
    let mut separator = "\n";
    while let Some(line) = lines.next().await? {
        out.write_all(separator.as_bytes())?;
        out.write_all(&line)?;
        separator = ",\n";
        if let Some(folder) = &args.files {
            save_file(org, &line, folder).await?;
        }
    }
    writeln!(out, "\n]}}")?;
    Ok(out.flush()?)
}

/// Writes an attached file under its id, which is a safe file name.
async fn save_file(org: &OrgApi, line: &[u8], folder: &Path) -> anyhow::Result<()> {
    let item: ExportedItem = serde_json::from_slice(line)?;
    if item.kind != "file" {
        return Ok(());
    }
    let Attachment { blob, .. } = serde_json::from_value(item.value)?;
    let id = blob.to_string();
    let bytes = org.download(&["files", &id]).await?;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    create_private(&folder.join(id))?.write_all(&bytes)?;
    Ok(())
}
