//! Decodes bytes with the charset of the content type or of the page itself.

use encoding_rs::{Encoding, UTF_8};

/// How many bytes of a page are searched for a charset declaration.
const SEARCHED_BYTES: usize = 1024;

/// Decodes the text of a page, as UTF-8 if no charset is declared. Invalid bytes become
/// replacement characters.
pub(super) fn decode(bytes: &[u8], content_type: &str) -> String {
    let encoding = charset_parameter(content_type)
        .or_else(|| declared_charset(bytes))
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .unwrap_or(UTF_8);
    encoding.decode(bytes).0.into_owned()
}

fn charset_parameter(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| value.to_owned())
    })
}

/// Returns the charset that a page declares: `<meta charset=…>` or `encoding="…"` of XML.
fn declared_charset(bytes: &[u8]) -> Option<String> {
    let head =
        String::from_utf8_lossy(&bytes[..bytes.len().min(SEARCHED_BYTES)]).to_ascii_lowercase();
    let start =
        ["charset=", "encoding="].iter().find_map(|key| head.find(key).map(|at| at + key.len()))?;
    let value = head[start..].trim_start_matches(['"', '\'', ' ']);
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c));
    Some(value[..end.unwrap_or(value.len())].to_owned()).filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn text_is_decoded_with_the_declared_charset() {
        let check = |bytes: &[u8], content_type: &str, expected: &str| {
            assert_eq!(decode(bytes, content_type), expected, "{content_type}");
        };
        check("Größe".as_bytes(), "text/plain", "Größe");
        check(b"Gr\xf6\xdfe", "text/plain; charset=ISO-8859-1", "Größe");
        check(b"Gr\xf6\xdfe", "text/html;Charset=\"windows-1252\"", "Größe");
        check(b"\x93\xfa\x96\x7b", "text/plain; charset=Shift_JIS", "日本");
        check(b"\xef\xbb\xbfhi", "text/plain; charset=latin1", "hi");
        check(b"<meta charset='latin1'>\xe9", "text/html", "<meta charset='latin1'>é");
        check(b"\xe9", "text/plain; charset=nonsense", "\u{fffd}");
        check(b"", "", "");
    }
}
