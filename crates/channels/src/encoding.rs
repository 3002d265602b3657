//! Base 64, in the two alphabets that the channels use.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, URL_SAFE_NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};

/// Takes base 64 with and without the padding at its end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(crate) fn standard(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads base 64, whatever white space is in it.
pub(crate) fn read_standard(text: &str) -> Option<Vec<u8>> {
    if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        let dense: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        return LENIENT.decode(dense).ok();
    }
    LENIENT.decode(text).ok()
}

pub(crate) fn url_safe(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn read_url_safe(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes as base 64 in JSON.
pub(crate) mod bytes {
    use ::bytes::Bytes;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::standard(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        let read = super::read_standard(&text);
        read.map(Bytes::from).ok_or_else(|| D::Error::custom("this is not base 64"))
    }
}
