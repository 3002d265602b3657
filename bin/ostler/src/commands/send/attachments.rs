//! Files that are attached to a message, read on this machine.

use std::path::Path;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_api::contact_message::ContactFile;
use ostler_domain::message::MAX_BLOB_BYTES;

/// The most files in a message.
const FILE_LIMIT: usize = 10;
/// The media type of files of unknown kind.
const DEFAULT_MEDIA_TYPE: &str = "application/octet-stream";

/// Reads all files, before any of them is sent.
pub(super) fn read(paths: &[impl AsRef<Path>]) -> anyhow::Result<Vec<ContactFile>> {
    if paths.len() > FILE_LIMIT {
        bail!("a message has at most {FILE_LIMIT} files, not {}", paths.len());
    }
    paths.iter().map(|path| read_file(path.as_ref())).collect()
}

fn read_file(path: &Path) -> anyhow::Result<ContactFile> {
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
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let media_type = mime_guess::from_path(path).first_raw().unwrap_or(DEFAULT_MEDIA_TYPE);
    Ok(ContactFile {
        name: name.unwrap_or_default(),
        media_type: media_type.to_owned(),
        data: STANDARD.encode(bytes),
    })
}
