//! Base 64, as model providers take pictures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bytes in base 64.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
