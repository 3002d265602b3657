//! Contacts: recognizing a person by what a channel knows of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::id::ContactId;

/// A person outside, as an org knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// Their id.
    pub id: ContactId,
    /// Their name on screens.
    pub name: String,
    /// How they are recognized.
    pub details: ContactDetails,
    /// Their language and region, such as `it-IT`, once it is known.
    pub locale: Option<String>,
    /// Words to find them by.
    pub tags: BTreeSet<String>,
    /// What was noted about them, oldest first.
    pub notes: Vec<String>,
    /// Who they are in the org's own CRM.
    pub crm: Option<CrmLink>,
}

impl Contact {
    /// What is known of them, by name, for those who talk to them.
    pub fn profile(&self) -> BTreeMap<String, String> {
        let tags = self.tags.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let known = [
            ("name", Some(self.name.clone())),
            ("e-mail", self.details.email.clone()),
            ("phone", self.details.phone.clone()),
            ("language", self.locale.clone()),
            ("tags", Some(tags)),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        known.filter(|(_, value)| !value.trim().is_empty()).collect()
    }
}

/// The same person in another system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrmLink {
    /// The name of the system.
    pub system: String,
    /// Its own id of the person.
    pub id: String,
}

/// What an org knows of a person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContactDetails {
    /// Telephone number.
    pub phone: Option<String>,
    /// E-mail address.
    pub email: Option<String>,
}

/// Whether the identifier that a message came with is this person's.
///
/// Phone channels compare numbers without white space; every channel compares
/// e-mail addresses whatever their case.
pub fn is_known_as(details: &ContactDetails, channel: &Channel, identifier: &str) -> bool {
    let same = |known: &Option<String>, normal: fn(&str) -> Option<String>| {
        let wanted = normal(identifier);
        wanted.is_some() && known.as_deref().and_then(normal) == wanted
    };
    (channel.uses_phone_numbers() && same(&details.phone, normal_phone))
        || same(&details.email, normal_email)
}

/// A telephone number as it is compared: without white space. None if nothing
/// is left of it.
pub fn normal_phone(number: &str) -> Option<String> {
    some(number.chars().filter(|c| !c.is_whitespace()).collect())
}

/// An e-mail address as it is compared: whatever its case. None if nothing is
/// left of it.
pub fn normal_email(address: &str) -> Option<String> {
    some(address.trim().to_lowercase())
}

/// What a channel calls a person, as it is compared: a number on phone channels,
/// an address on e-mail, and elsewhere a name that the channel itself gives out.
pub fn normal_identifier(channel: &Channel, identifier: &str) -> Option<String> {
    match channel {
        _ if channel.uses_phone_numbers() => normal_phone(identifier),
        Channel::Email => normal_email(identifier),
        _ => some(identifier.trim().to_owned()),
    }
}

/// What every spelling of an identifier has in common, on whatever channel:
/// names that are compared as equal have the same form, though not all names
/// of the same form are equal. It has no white space.
pub fn search_form(identifier: &str) -> String {
    let shown = identifier.chars().filter(|c| !c.is_whitespace());
    // Both ways, because several small letters share a capital one.
    shown.flat_map(char::to_lowercase).flat_map(char::to_uppercase).collect()
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{ContactDetails, is_known_as, normal_identifier, search_form};
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
            let known = is_known_as(&rosa, &Channel::from(channel), identifier);
            assert_eq!(known, expected, "{channel} {identifier}");
        }
        assert!(!is_known_as(&ContactDetails::default(), &Channel::Sms, "+39061234"));
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
            let normal = normal_identifier(&Channel::from(channel), identifier);
            assert_eq!(normal.as_deref(), expected, "{channel} {identifier}");
        }
    }

    #[test]
    fn spellings_of_one_identifier_have_the_same_search_form() {
        let table = [
            ("sms", " +39 06 1234", "+39061234"),
            ("sms", "+39\u{a0}06\t1234", "+39061234"),
            ("email", " Rosa@Example.com ", "ROSA@EXAMPLE.COM"),
            ("email", "ΟΔΥΣΣΕΥΣ@example.com", "ΟΔΥΣΣΕΥΣ@EXAMPLE.COM"),
            ("email", "STRAẞE@example.com", "STRASSE@EXAMPLE.COM"),
            ("telegram", " Rosa B ", "ROSAB"),
        ];
        for (channel, identifier, expected) in table {
            assert_eq!(search_form(identifier), expected, "{channel} {identifier}");
            let normal = normal_identifier(&Channel::from(channel), identifier).unwrap();
            assert_eq!(search_form(&normal), expected, "{channel} {normal}");
        }
    }
}
