//! `ostler contact export`: writes all that an org keeps of a contact, as it is
//! read, so that nobody's past is too long.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write, stdout};
use std::path::Path;

use anyhow::Context as _;
use ostler_domain::message::Attachment;
use ostler_store::{Exported, OrgStore, Personal};

use crate::cli::ContactExport;

pub(crate) async fn run(command: &ContactExport) -> anyhow::Result<()> {
    let (store, org) = super::open(&command.of).await?;
    let org = store.org(org);
    // Before a file is made for somebody who is not there.
    org.contact(command.of.contact).await?;
    match &command.out {
        None => write(org, command, &mut stdout().lock()).await,
        Some(path) => write(org, command, &mut BufWriter::new(private(path)?)).await,
    }
}

/// A file that nobody else may read.
fn private(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).with_context(|| format!("cannot write {}", path.display()))
}

async fn write(
    org: OrgStore<'_>,
    command: &ContactExport,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let contact = command.of.contact;
    write!(out, "{{\"org\":\"{}\",\"contact\":\"{contact}\",\"entries\":[", org.id())?;
    let mut export = org.export_contact(contact);
    let mut between = "\n";
    while let Some(page) = export.next_page().await? {
        for entry in &page {
            out.write_all(between.as_bytes())?;
            serde_json::to_writer(&mut *out, entry)?;
            between = ",\n";
            if let Some(folder) = &command.files {
                save(org, entry, folder).await?;
            }
        }
    }
    writeln!(out, "\n]}}")?;
    Ok(out.flush()?)
}

/// Writes the bytes of a file under its id, which is a safe name in any folder.
async fn save(org: OrgStore<'_>, entry: &Exported, folder: &Path) -> anyhow::Result<()> {
    if entry.kind != Personal::File {
        return Ok(());
    }
    let Attachment { blob, .. } = serde_json::from_value(entry.value.clone())?;
    let bytes = org.blob(blob).await?.bytes;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    private(&folder.join(blob.to_string()))?.write_all(&bytes)?;
    Ok(())
}
