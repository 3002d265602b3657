//! Files that are attached to a message.

use std::path::Path;

use anyhow::{Context as _, bail};
use ostler_domain::id::{BlobId, OrgId};
use ostler_domain::message::{MAX_BLOB_BYTES, MediaType, MessagePart};
use ostler_store::{NewBlob, Store};

/// The most files in a message.
const FILE_LIMIT: usize = 10;
/// The media type of files of unknown kind.
const DEFAULT_MEDIA_TYPE: &str = "application/octet-stream";

/// A file that was read and is not stored yet.
pub(super) struct AttachedFile {
    name: String,
    media_type: MediaType,
    bytes: Vec<u8>,
}

/// Reads all files, before any of them is stored.
pub(super) fn read(paths: &[impl AsRef<Path>]) -> anyhow::Result<Vec<AttachedFile>> {
    if paths.len() > FILE_LIMIT {
        bail!("a message has at most {FILE_LIMIT} files, not {}", paths.len());
    }
    paths.iter().map(|path| read_file(path.as_ref())).collect()
}

fn read_file(path: &Path) -> anyhow::Result<AttachedFile> {
    let shown = path.display();
    let metadata = std::fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
    if !metadata.is_file() {
        bail!("{shown} is not a file");
    }
    let limit_mib = MAX_BLOB_BYTES >> 20;
    if metadata.len() > MAX_BLOB_BYTES as u64 {
        let size_mib = metadata.len().div_ceil(1 << 20);
        bail!("{shown} has {size_mib} MiB; a file may have at most {limit_mib} MiB");
    }
    if metadata.len() == 0 {
        bail!("{shown} is empty");
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let media_type = mime_guess::from_path(path).first_raw().unwrap_or(DEFAULT_MEDIA_TYPE);
    Ok(AttachedFile { name: file_name.unwrap_or_default(), media_type: media_type.parse()?, bytes })
}

/// Stores the files and returns them as parts of a message.
pub(super) async fn store(
    store: &Store,
    org: OrgId,
    files: Vec<AttachedFile>,
) -> anyhow::Result<Vec<MessagePart>> {
    let mut parts = Vec::with_capacity(files.len());
    for AttachedFile { name, media_type, bytes } in files {
        let id = BlobId::from_u128(ostler_bus::next_id().as_u128());
        let name = Some(name).filter(|name| !name.is_empty());
        let stored = store.org(org).put_blob(NewBlob { id, media_type, name, bytes }).await?;
        parts.push(MessagePart::from_attachment(stored));
    }
    Ok(parts)
}
