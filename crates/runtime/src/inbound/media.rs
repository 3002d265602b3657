//! What lies beside the words of a conversation, loaded for a turn: pictures,
//! recordings and files for models that take them. A file of text is words, which
//! every model takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostler_domain::id::BlobId;
use ostler_engine::history::{Content, Media};
use ostler_engine::turn::Turn;

use super::case::Case;

/// The most bytes of a file of text that are read.
const MOST_TEXT: usize = 32 * 1024;
/// What files of text are, besides all that begins with `text/`.
const TEXTS: [&str; 4] =
    ["application/json", "application/xml", "application/yaml", "application/x-yaml"];

/// Loads what a turn refers to.
pub(super) async fn load(case: &Case<'_>, mut turn: Turn) -> Turn {
    let mut wanted = Vec::new();
    turn.attached(|one| wanted.extend(one.media().and_then(|media| media.blob)));
    if wanted.is_empty() {
        return turn;
    }
    let mut loaded: BTreeMap<BlobId, Vec<u8>> = BTreeMap::new();
    for blob in wanted {
        match case.store().blob(blob).await {
            Ok(found) => {
                loaded.insert(blob, found.bytes);
            }
            Err(error) => tracing::warn!(%error, %blob, "a file cannot be read"),
        }
    }
    turn.attached(|one| {
        let blob = one.media().and_then(|media| media.blob);
        if let Some(bytes) = blob.and_then(|blob| loaded.get(&blob)) {
            fill(one, bytes);
        }
    });
    turn
}

fn fill(content: &mut Content, bytes: &[u8]) {
    if let Content::File(file) = content
        && let Some(words) = words(file, bytes)
    {
        *content = Content::text(words);
    } else if let Some(media) = content.media_mut() {
        media.data = Some(Arc::from(crate::base64_text::encode(bytes)));
    }
}

/// The words of a file of text.
fn words(file: &Media, bytes: &[u8]) -> Option<String> {
    let kind = file.media_type.as_str();
    if !kind.starts_with("text/") && !TEXTS.contains(&kind) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let end = text.floor_char_boundary(MOST_TEXT);
    let cut = if end < text.len() { "\n[the rest is left out]" } else { "" };
    Some(format!("[the file {}]\n{}{cut}\n[the end of the file]", file.called(), &text[..end]))
}
