//! Files beside what a customer writes.

use std::path::Path;

use anyhow::{Context as _, bail};
use ostler_domain::id::{BlobId, OrgId};
use ostler_domain::message::{MAX_BLOB_BYTES, MediaType, Part};
use ostler_store::{NewBlob, Store};

/// The most files of one message.
const MOST: usize = 10;
/// What bytes are of which nothing is known.
const UNKNOWN: &str = "application/octet-stream";

/// A file that is read, and not kept yet.
pub(super) struct File {
    name: String,
    media_type: MediaType,
    bytes: Vec<u8>,
}

/// Reads the files, all of them before anything is kept.
pub(super) fn read(paths: &[impl AsRef<Path>]) -> anyhow::Result<Vec<File>> {
    if paths.len() > MOST {
        bail!("a message has at most {MOST} files; these are {}", paths.len());
    }
    paths.iter().map(|path| one(path.as_ref())).collect()
}

fn one(path: &Path) -> anyhow::Result<File> {
    let shown = path.display();
    let about = std::fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
    if !about.is_file() {
        bail!("{shown} is not a file");
    }
    let most = MAX_BLOB_BYTES >> 20;
    if about.len() > MAX_BLOB_BYTES as u64 {
        let has = about.len().div_ceil(1 << 20);
        bail!("{shown} has {has} MiB; a file may have at most {most} MiB");
    }
    if about.len() == 0 {
        bail!("{shown} is empty");
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let guess = mime_guess::from_path(path).first_raw().unwrap_or(UNKNOWN);
    Ok(File { name: name.unwrap_or_default(), media_type: guess.parse()?, bytes })
}

/// Keeps the files, as parts of a message.
pub(super) async fn keep(store: &Store, org: OrgId, files: Vec<File>) -> anyhow::Result<Vec<Part>> {
    let mut parts = Vec::with_capacity(files.len());
    for File { name, media_type, bytes } in files {
        let id = BlobId::from_u128(ostler_bus::next_id().as_u128());
        let name = Some(name).filter(|name| !name.is_empty());
        let kept = store.org(org).put_blob(NewBlob { id, media_type, name, bytes }).await?;
        parts.push(Part::attached(kept));
    }
    Ok(parts)
}
