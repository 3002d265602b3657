//! Loads the pictures, recordings and files of a conversation for a turn. They are never
//! stored with it. A text file becomes text, which every model reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_domain::id::BlobId;
use ostler_engine::history::{Content, Media};
use ostler_engine::turn::Turn;

use super::run_context::RunContext;

/// The maximum number of bytes that are read of a text file.
const MAX_TEXT_BYTES: usize = 32 * 1024;
/// Media types of text files, besides `text/*`.
const TEXT_TYPES: [&str; 4] =
    ["application/json", "application/xml", "application/yaml", "application/x-yaml"];

/// Loads the files that a turn refers to. One that cannot be read is left out.
pub(crate) async fn load(context: &RunContext<'_>, mut turn: Turn) -> Turn {
    let mut wanted = Vec::new();
    turn.for_each_attachment(|one| wanted.extend(one.media().and_then(|media| media.blob)));
    if wanted.is_empty() {
        return turn;
    }
    let mut loaded: BTreeMap<BlobId, Vec<u8>> = BTreeMap::new();
    for blob in wanted {
        match context.store().blob(blob).await {
            Ok(found) => {
                loaded.insert(blob, found.bytes);
            }
            Err(error) => tracing::warn!(blob_id = %blob, %error, "attachment not read"),
        }
    }
    turn.for_each_attachment(|one| {
        let blob = one.media().and_then(|media| media.blob);
        if let Some(bytes) = blob.and_then(|blob| loaded.get(&blob)) {
            fill(one, bytes);
        }
    });
    turn
}

fn fill(content: &mut Content, bytes: &[u8]) {
    if let Content::File(file) = content
        && let Some(text) = file_text(file, bytes)
    {
        *content = Content::text(text);
    } else if let Some(media) = content.media_mut() {
        media.data = Some(Arc::from(STANDARD.encode(bytes)));
    }
}

/// Returns the text of a text file, cut to its maximum length.
fn file_text(file: &Media, bytes: &[u8]) -> Option<String> {
    let kind = file.media_type.as_str();
    if !kind.starts_with("text/") && !TEXT_TYPES.contains(&kind) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    let cut = if end < text.len() { "\n[the rest is left out]" } else { "" };
    Some(format!("[the file {}]\n{}{cut}\n[the end of the file]", file.label(), &text[..end]))
}
