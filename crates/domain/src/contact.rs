//! Contacts: the people outside an org, and how their identifiers are compared.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::id::ContactId;

/// A person outside, as an org knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    pub id: ContactId,
    pub name: String,
    /// The identifiers that are compared with those of a channel.
    pub details: ContactDetails,
    /// Language and region, such as `it-IT`; `None` until known.
    pub locale: Option<String>,
    pub tags: BTreeSet<String>,
    /// Oldest first.
    pub notes: Vec<String>,
    /// The same person in the org's CRM.
    pub crm: Option<CrmLink>,
}

impl Contact {
    /// Returns what is known about the contact, by name, for the prompt.
    pub fn profile(&self) -> BTreeMap<String, String> {
        let tags = self.tags.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let fields = [
            ("name", Some(self.name.clone())),
            ("e-mail", self.details.email.clone()),
            ("phone", self.details.phone.clone()),
            ("language", self.locale.clone()),
            ("tags", Some(tags)),
        ];
        let known = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        known.filter(|(_, value)| !value.trim().is_empty()).collect()
    }
}

/// A reference to the same person in a CRM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrmLink {
    pub system: String,
    /// The CRM's own id of the person.
    pub id: String,
}

/// The phone number and e-mail address of a contact.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContactDetails {
    pub phone: Option<String>,
    pub email: Option<String>,
}

/// Returns whether an identifier on a channel belongs to this contact.
///
/// Phone channels compare numbers without white space; all channels compare e-mail
/// addresses ignoring case.
pub fn matches_identifier(details: &ContactDetails, channel: &Channel, identifier: &str) -> bool {
    let same = |known: &Option<String>, normalize: fn(&str) -> Option<String>| {
        let wanted = normalize(identifier);
        wanted.is_some() && known.as_deref().and_then(normalize) == wanted
    };
    (channel.uses_phone_numbers() && same(&details.phone, normalize_phone))
        || same(&details.email, normalize_email)
}

/// Normalizes a telephone number for comparison: removes white space. Returns
/// `None` if nothing is left.
pub fn normalize_phone(number: &str) -> Option<String> {
    non_empty(number.chars().filter(|c| !c.is_whitespace()).collect())
}

/// Normalizes an e-mail address for comparison: trims it and lowers its case.
/// Returns `None` if nothing is left.
pub fn normalize_email(address: &str) -> Option<String> {
    non_empty(address.trim().to_lowercase())
}

/// Normalizes an identifier as its channel writes it: a number on phone channels,
/// an address on e-mail, an opaque id elsewhere. Returns `None` if nothing is left.
pub fn normalize_identifier(channel: &Channel, identifier: &str) -> Option<String> {
    match channel {
        _ if channel.uses_phone_numbers() => normalize_phone(identifier),
        Channel::Email => normalize_email(identifier),
        _ => non_empty(identifier.trim().to_owned()),
    }
}

/// Returns a key for searching: identifiers that are equal on any channel have the
/// same key. Different identifiers may share one. It has no white space.
pub fn search_key(identifier: &str) -> String {
    let visible = identifier.chars().filter(|c| !c.is_whitespace());
    // Both ways, because several lower-case letters share a capital.
    visible.flat_map(char::to_lowercase).flat_map(char::to_uppercase).collect()
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{ContactDetails, matches_identifier, normalize_identifier, search_key};
    use crate::channel::Channel;

    /// A12: phone on phone channels, e-mail on all.
    #[test]
    fn a12_a_contact_is_found_by_phone_or_email() {
        let rosa = ContactDetails {
            phone: Some("+39 06 1234".into()),
            email: Some("Rosa@example.com".into()),
        };
        let table = [
            ("sms", "+39061234", true),
            ("whatsapp", "+39 0612 34", true),
            ("sms", "+39061235", false),
            ("telegram", "+39061234", false),
            ("email", "rosa@EXAMPLE.com ", true),
            ("webchat", "rosa@example.com", true),
            ("sms", "rosa@example.com", true),
            ("webchat", "", false),
            ("sms", " ", false),
        ];
        for (channel, identifier, expected) in table {
            let known = matches_identifier(&rosa, &Channel::from(channel), identifier);
            assert_eq!(known, expected, "{channel} {identifier}");
        }
        assert!(!matches_identifier(&ContactDetails::default(), &Channel::Sms, "+39061234"));
    }

    #[test]
    fn an_identifier_is_compared_as_its_channel_writes_it() {
        let table = [
            ("sms", " +39 06 1234", Some("+39061234")),
            ("whatsapp", "+39061234", Some("+39061234")),
            ("email", " Rosa@Example.com ", Some("rosa@example.com")),
            ("telegram", " Rosa ", Some("Rosa")),
            ("telegram", "  ", None),
            ("sms", " ", None),
            ("email", "", None),
        ];
        for (channel, identifier, expected) in table {
            let normal = normalize_identifier(&Channel::from(channel), identifier);
            assert_eq!(normal.as_deref(), expected, "{channel} {identifier}");
        }
    }

    #[test]
    fn spellings_of_one_identifier_have_the_same_search_key() {
        let table = [
            ("sms", " +39 06 1234", "+39061234"),
            ("sms", "+39\u{a0}06\t1234", "+39061234"),
            ("email", " Rosa@Example.com ", "ROSA@EXAMPLE.COM"),
            ("email", "ΟΔΥΣΣΕΥΣ@example.com", "ΟΔΥΣΣΕΥΣ@EXAMPLE.COM"),
            ("email", "STRAẞE@example.com", "STRASSE@EXAMPLE.COM"),
            ("telegram", " Rosa B ", "ROSAB"),
        ];
        for (channel, identifier, expected) in table {
            assert_eq!(search_key(identifier), expected, "{channel} {identifier}");
            let normal = normalize_identifier(&Channel::from(channel), identifier).unwrap();
            assert_eq!(search_key(&normal), expected, "{channel} {normal}");
        }
    }
}
