//! Names and addresses in the headers of a mail.

use lettre::Address;

use crate::encoding;

/// The bytes of a name that fit into one encoded word of 75 characters.
const MAX_WORD_BYTES: usize = 45;

/// An address with a display name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mailbox {
    pub(super) name: Option<String>,
    pub(super) address: Address,
}

impl Mailbox {
    /// Parses `Bella Pizza <ciao@bella.example>`, or an address alone.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some((name, rest)) = text.rsplit_once('<') else {
            return Some(Self { name: None, address: text.parse().ok()? });
        };
        let name = name.trim().trim_matches('"').trim();
        let plain = !name.is_empty() && !name.chars().any(char::is_control);
        let address = rest.strip_suffix('>')?.trim().parse().ok()?;
        Some(Self { name: plain.then(|| name.to_owned()), address })
    }

    /// Formats the mailbox for a header.
    pub(super) fn to_header(&self) -> String {
        match &self.name {
            Some(name) => format!("{} <{}>", encode_name(name), self.address),
            None => self.address.to_string(),
        }
    }
}

/// Encodes a display name: quoted if it is ASCII, otherwise as encoded words.
fn encode_name(name: &str) -> String {
    if name.is_ascii() {
        return format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    }
    let mut words = vec![String::new()];
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if word.len() + c.len_utf8() <= MAX_WORD_BYTES => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    let encoded = words.iter().map(|word| encoding::base64_encode(word.as_bytes()));
    encoded.map(|word| format!("=?utf-8?B?{word}?=")).collect::<Vec<_>>().join(" ")
}

/// Returns the header `Content-Disposition` of a file. A name with other characters
/// than letters, digits and `._- ` is percent-encoded.
pub(super) fn content_disposition(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.bytes().all(|byte| is_plain(byte) || byte == b' ') {
        return format!("attachment; filename=\"{name}\"");
    }
    let percent = |byte: u8| match byte {
        byte if is_plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let encoded: String = name.bytes().map(percent).collect();
    format!("attachment; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::{Mailbox, content_disposition};

    #[test]
    fn mailboxes_are_parsed_and_formatted() {
        let check = |text: &str, expected: Option<&str>| {
            let header = Mailbox::parse(text).map(|mailbox| mailbox.to_header());
            assert_eq!(header.as_deref(), expected, "{text}");
        };
        check("ciao@bella.example", Some("ciao@bella.example"));
        check(" <ciao@bella.example> ", Some("ciao@bella.example"));
        check("Bella Pizza <ciao@bella.example>", Some("\"Bella Pizza\" <ciao@bella.example>"));
        check("\"Bella, \\ Pizza\" <c@b.it>", Some("\"Bella, \\\\ Pizza\" <c@b.it>"));
        check("Però <c@b.it>", Some("=?utf-8?B?UGVyw7I=?= <c@b.it>"));
        check("A\r\nBcc: x <c@b.it>", Some("c@b.it"));
        for wrong in ["", "nobody", "Bella <c@b.it", "Bella <c>", "<>", "a@b.it\r\nX: y"] {
            check(wrong, None);
        }
        let long = Mailbox::parse(&format!("{} <c@b.it>", "è".repeat(60))).unwrap().to_header();
        assert!(long.split(' ').all(|word| word.len() <= 75), "{long}");
    }

    #[test]
    fn a_file_name_cannot_break_the_header() {
        assert_eq!(content_disposition("the menu.csv"), "attachment; filename=\"the menu.csv\"");
        assert_eq!(content_disposition("menù.csv"), "attachment; filename*=UTF-8''men%C3%B9.csv");
        assert!(!content_disposition("a\"\r\nX: y").contains(['\r', '\n']));
    }
}
