//! The texts that name a contact and nobody else, by which it is found where it has no rows of
//! its own.

use std::collections::BTreeSet;

use ostler_domain::channel::Channel;
use ostler_domain::contact::Contact;
use serde::{Deserialize, Serialize};

/// Shorter addresses, numbers, names and identifiers stand in too many texts by chance.
const MIN_ADDRESS: usize = 6;
const MIN_NUMBER: usize = 9;
const MIN_NAME: usize = 8;
const MIN_IDENTIFIER: usize = 16;

/// A text that names a contact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Marker {
    /// An id, an address, a number, or an identifier on a channel.
    Identifier(String),
    /// A name of several words. It is left alone where the org itself, another contact or
    /// anything that the org has configured has it too.
    Name { name: String },
}

impl Marker {
    /// Returns the text to search for.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Identifier(text) => text,
            Self::Name { name } => name,
        }
    }

    pub(super) const fn is_name(&self) -> bool {
        matches!(self, Self::Name { .. })
    }
}

/// Returns the markers of a contact with its identifiers on channels, each as it may be
/// written. None is ever a part of a number in JSON.
pub(super) fn markers(contact: &Contact, identifiers: &[(Channel, String)]) -> Vec<Marker> {
    let details = [contact.details.email.clone(), contact.details.phone.clone()];
    let linked = identifiers.iter().map(|(_, identifier)| identifier.clone());
    let known: Vec<String> = details.into_iter().flatten().chain(linked).collect();
    let mut all = BTreeSet::from([contact.id.to_string()]);
    for text in known.iter().map(|text| text.trim()) {
        if text.contains('@') && text.len() >= MIN_ADDRESS {
            all.extend(in_all_cases(text));
        } else if text.starts_with('+') && text.len() >= MIN_NUMBER {
            let digits = text.chars().filter(|c| *c == '+' || c.is_ascii_digit()).collect();
            all.extend([text.to_owned(), digits]);
        } else if text.len() >= MIN_IDENTIFIER && text.bytes().any(|byte| !byte.is_ascii_digit()) {
            all.insert(text.to_owned());
        }
    }
    let name = contact.name.trim();
    let is_name = name.split_whitespace().nth(1).is_some() && name.chars().count() >= MIN_NAME;
    let names = is_name.then(|| in_all_cases(name)).into_iter().flatten();
    let names: BTreeSet<String> = names.filter(|name| !all.contains(name)).collect();
    let identifiers = all.into_iter().map(Marker::Identifier);
    identifiers.chain(names.into_iter().map(|name| Marker::Name { name })).collect()
}

/// Returns a text as it is, in lower and upper case, and each as it stands in JSON.
fn in_all_cases(text: &str) -> BTreeSet<String> {
    let cases = [text.to_owned(), text.to_lowercase(), text.to_uppercase()];
    cases.into_iter().flat_map(|text| [in_json(&text), text]).collect()
}

fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use ostler_domain::channel::Channel;
    use ostler_domain::contact::Contact;
    use ostler_domain::id::ContactId;
    use serde_json::{Value, json};

    use super::{Marker, markers};

    fn contact(name: &str, details: &Value) -> Contact {
        let id = ContactId::from_u128(1);
        let contact = json!({"id": id, "name": name, "tags": [], "notes": [], "details": details});
        serde_json::from_value(contact).expect("a contact")
    }

    fn check(contact: &Contact, identifiers: &[(Channel, String)], expected: &[&str]) {
        let id = contact.id.to_string();
        let found = markers(contact, identifiers);
        let others: Vec<&str> = found.iter().map(Marker::text).filter(|text| *text != id).collect();
        assert_eq!(others, expected);
    }

    #[test]
    fn s09_markers_are_texts_that_name_one_person_only() {
        check(&contact("Rosa", &json!({})), &[], &[]);
        check(
            &contact("Rosa", &json!({"email": "Rosa@x.it", "phone": "+39 06 771234"})),
            &[],
            &["+39 06 771234", "+3906771234", "ROSA@X.IT", "Rosa@x.it", "rosa@x.it"],
        );
        check(&contact("Rosa", &json!({"email": "a@b.c", "phone": "06771234"})), &[], &[]);
    }

    #[test]
    fn s09_names_of_several_words_and_long_identifiers_are_markers() {
        check(
            &contact("Rosa \"Lu\" Verdi", &json!({})),
            &[],
            &[
                "ROSA \"LU\" VERDI",
                "ROSA \\\"LU\\\" VERDI",
                "Rosa \"Lu\" Verdi",
                "Rosa \\\"Lu\\\" Verdi",
                "rosa \"lu\" verdi",
                "rosa \\\"lu\\\" verdi",
            ],
        );
        check(&contact("Al Oz", &json!({})), &[], &[]);
        let visitor = "0123456789abcdef0123456789abcdef";
        let identifiers = [
            (Channel::Webchat, visitor.to_owned()),
            (Channel::Telegram, "123456789012345678".to_owned()),
            (Channel::Telegram, "rosa_v".to_owned()),
            (Channel::Email, "r@x.example".to_owned()),
        ];
        // A name that is a number names the person, too.
        let expected = [visitor, "R@X.EXAMPLE", "r@x.example", "+39 06 771234"];
        check(&contact("+39 06 771234", &json!({})), &identifiers, &expected);
    }

    #[test]
    fn s09_markers_of_an_older_version_are_read() {
        let stored: Vec<Marker> = serde_json::from_str("[\"a@b.example\"]").expect("markers");
        assert_eq!(stored, [Marker::Identifier("a@b.example".to_owned())]);
    }
}
