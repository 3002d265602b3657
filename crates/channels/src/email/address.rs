//! Names and addresses in the headers of a mail.

use lettre::Address;

use crate::encoding;

/// The most bytes of a name in one encoded word, which may have 75 characters.
const WORD_BYTES: usize = 45;

/// An address with the name of whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mailbox {
    pub(super) name: Option<String>,
    pub(super) address: Address,
}

impl Mailbox {
    /// Reads `Bella Pizza <ciao@bella.example>`, or the address alone.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some((name, rest)) = text.rsplit_once('<') else {
            return Some(Self { name: None, address: text.parse().ok()? });
        };
        let name = name.trim().trim_matches('"').trim();
        let plain = !name.is_empty() && !name.chars().any(char::is_control);
        let address = rest.strip_suffix('>')?.trim().parse().ok()?;
        Some(Self { name: plain.then(|| name.to_owned()), address })
    }

    /// As a header has it.
    pub(super) fn header(&self) -> String {
        match &self.name {
            Some(name) => format!("{} <{}>", phrase(name), self.address),
            None => self.address.to_string(),
        }
    }
}

/// A name: quoted if it is ASCII, else in encoded words, which stand unquoted.
fn phrase(name: &str) -> String {
    if name.is_ascii() {
        return format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    }
    let mut words = vec![String::new()];
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if word.len() + c.len_utf8() <= WORD_BYTES => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    let encoded = words.iter().map(|word| encoding::standard(word.as_bytes()));
    encoded.map(|word| format!("=?utf-8?B?{word}?=")).collect::<Vec<_>>().join(" ")
}

/// How a file is named: as it is if any program can read that, else in the form
/// that takes every letter.
pub(super) fn disposition(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.bytes().all(|byte| plain(byte) || byte == b' ') {
        return format!("attachment; filename=\"{name}\"");
    }
    let percent = |byte: u8| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let all: String = name.bytes().map(percent).collect();
    format!("attachment; filename*=UTF-8''{all}")
}

#[cfg(test)]
mod tests {
    use super::{Mailbox, disposition};

    #[test]
    fn an_address_is_read_and_written() {
        let check = |text: &str, expected: Option<&str>| {
            let written = Mailbox::read(text).map(|mailbox| mailbox.header());
            assert_eq!(written.as_deref(), expected, "{text}");
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
        let long = Mailbox::read(&format!("{} <c@b.it>", "è".repeat(60))).unwrap().header();
        assert!(long.split(' ').all(|word| word.len() <= 75), "{long}");
    }

    #[test]
    fn a_file_name_breaks_no_header() {
        assert_eq!(disposition("the menu.csv"), "attachment; filename=\"the menu.csv\"");
        assert_eq!(disposition("menù.csv"), "attachment; filename*=UTF-8''men%C3%B9.csv");
        assert!(!disposition("a\"\r\nX: y").contains(['\r', '\n']));
    }
}
