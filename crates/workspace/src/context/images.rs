//! Images as parts of a message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ostler_engine::history::{Content, Media};

/// The largest image that is attached, in bytes.
pub const MAX_IMAGE_BYTES: u64 = 5 << 20;

/// Returns the media type of an image by its first bytes; the name of a file proves nothing.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns the part of a message that shows an image.
pub fn part(path: &str, media_type: &str, bytes: &[u8]) -> Content {
    Content::Image(Media {
        media_type: media_type.to_owned(),
        name: Some(path.to_owned()),
        size: bytes.len() as u64,
        data: Some(BASE64_STANDARD.encode(bytes).into()),
        ..Media::default()
    })
}
