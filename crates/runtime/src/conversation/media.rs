//! Loads the pictures, recordings and files of a conversation for a turn. They are never
//! stored with it. A text file becomes text, which every model reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_domain::id::BlobId;
use ostler_engine::history::{Content, Media};
use ostler_engine::turn::Turn;

use super::run_context::RunContext;

/// The maximum number of bytes that are read of a text file.
const MAX_TEXT_BYTES: usize = 32 * 1024;
/// The maximum number of bytes of files that a turn loads.
const MAX_TURN_BYTES: u64 = 32 * 1024 * 1024;
/// Media types of text files, besides `text/*`.
const TEXT_TYPES: [&str; 4] =
    ["application/json", "application/xml", "application/yaml", "application/x-yaml"];

/// Loads the files that a turn refers to, the latest ones first, up to [`MAX_TURN_BYTES`]. One
/// that cannot be read, or for which there is no room, is unavailable to the model.
pub(crate) async fn load(context: &RunContext<'_>, mut turn: Turn) -> Turn {
    let mut wanted = Vec::new();
    turn.for_each_attachment(|one| {
        wanted.extend(one.media().and_then(|media| Some((media.blob?, media.size))));
    });
    if wanted.is_empty() {
        return turn;
    }
    let mut loaded: BTreeMap<BlobId, Vec<u8>> = BTreeMap::new();
    for blob in latest_within(&wanted, MAX_TURN_BYTES) {
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

/// Returns the last blobs that have at most `budget` bytes together. Blobs are in the order of
/// the conversation, each with its size.
fn latest_within(blobs: &[(BlobId, u64)], budget: u64) -> BTreeSet<BlobId> {
    let (mut room, mut chosen) = (budget, BTreeSet::new());
    for (blob, size) in blobs.iter().rev() {
        if chosen.contains(blob) {
            continue;
        }
        let Some(left) = room.checked_sub(*size) else { break };
        room = left;
        chosen.insert(*blob);
    }
    chosen
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

#[cfg(test)]
mod tests {
    use super::{BlobId, latest_within};

    /// S04: the files of a turn have a budget, which the latest ones get.
    #[test]
    fn s04_the_latest_files_within_the_budget_are_loaded() {
        let blob = BlobId::from_u128;
        let all = [(blob(1), 10), (blob(2), 40), (blob(3), 30), (blob(2), 40)];
        let check = |budget, expected: &[u128]| {
            let chosen: Vec<BlobId> = latest_within(&all, budget).into_iter().collect();
            let expected: Vec<BlobId> = expected.iter().copied().map(blob).collect();
            assert_eq!(chosen, expected, "{budget}");
        };
        check(80, &[1, 2, 3]);
        check(79, &[2, 3]);
        check(69, &[2]);
        check(39, &[]);
    }
}
