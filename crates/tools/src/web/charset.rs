//! Bytes to text, as the page says or, if it does not, as it looks.

use encoding_rs::{Encoding, UTF_8};

/// How far into a page one looks for what it says of itself.
const HEAD: usize = 1024;

/// The text of a page. What cannot be read becomes a replacement sign.
pub(super) fn decode(bytes: &[u8], content_type: &str) -> String {
    let encoding = parameter(content_type)
        .or_else(|| declared(bytes))
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .unwrap_or(UTF_8);
    encoding.decode(bytes).0.into_owned()
}

fn parameter(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| value.to_owned())
    })
}

/// What a page says of itself: `<meta charset=…>` or `encoding="…"` of XML.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]).to_ascii_lowercase();
    let at = ["charset=", "encoding="]
        .iter()
        .find_map(|mark| head.find(mark).map(|at| at + mark.len()))?;
    let value = head[at..].trim_start_matches(['"', '\'', ' ']);
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c));
    Some(value[..end.unwrap_or(value.len())].to_owned()).filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn text_is_read_as_the_page_says() {
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
