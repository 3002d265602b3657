//! The files of imported media items.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_api::data::DataFile;
use ostler_domain::message::{MAX_BLOB_BYTES, MediaType};
use serde_json::{Map, Value};

/// The files beside an imported file.
pub(super) struct MediaFiles {
    folder: PathBuf,
}

impl MediaFiles {
    /// Paths are relative to the folder of the imported file.
    pub(super) fn beside(path: &Path) -> Self {
        Self { folder: path.parent().unwrap_or(Path::new(".")).to_owned() }
    }

    /// Reads the file of a row and puts its media type into the row, unless it has one.
    /// The error is a reason for people.
    pub(super) fn read(
        &self,
        file: &str,
        fields: &mut Map<String, Value>,
    ) -> Result<DataFile, String> {
        let path = self.folder.join(file);
        let size = std::fs::metadata(&path).map_err(|error| format!("{file}: {error}"))?.len();
        if size > MAX_BLOB_BYTES as u64 {
            return Err(format!("{file} has more than {} MiB", MAX_BLOB_BYTES >> 20));
        }
        let bytes = std::fs::read(&path).map_err(|error| format!("{file}: {error}"))?;
        let guessed = mime_guess::from_path(&path).first_or_octet_stream().to_string();
        let media_type = fields.get("media_type").and_then(Value::as_str).unwrap_or(&guessed);
        let media_type: MediaType =
            media_type.parse().map_err(|_| format!("`{media_type}` is not a media type"))?;
        fields.insert("media_type".into(), media_type.to_string().into());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let content = STANDARD.encode(bytes);
        Ok(DataFile { media_type, name: name.unwrap_or_default(), content })
    }
}
