//! Contacts: the people outside an org, and how their identifiers are compared.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::id::ContactId;

/// A person outside, as an org knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Returns the union of two contacts of the same person: the first wins, the second fills
/// its gaps. Details of the second that the first has otherwise are lost here; they belong
/// to the identifiers.
pub fn merge(kept: &Contact, other: &Contact) -> Contact {
    let is_placeholder = |contact: &Contact| {
        let details = &contact.details;
        Some(&contact.name) == details.email.as_ref()
            || Some(&contact.name) == details.phone.as_ref()
    };
    let name =
        if is_placeholder(kept) && !is_placeholder(other) { &other.name } else { &kept.name };
    let first =
        |kept: &Option<String>, other: &Option<String>| kept.clone().or_else(|| other.clone());
    let mut notes = kept.notes.clone();
    notes.extend(other.notes.iter().filter(|note| !kept.notes.contains(note)).cloned());
    Contact {
        id: kept.id,
        name: name.clone(),
        details: ContactDetails {
            phone: first(&kept.details.phone, &other.details.phone),
            email: first(&kept.details.email, &other.details.email),
        },
        locale: first(&kept.locale, &other.locale),
        tags: kept.tags.union(&other.tags).cloned().collect(),
        notes,
        crm: kept.crm.clone().or_else(|| other.crm.clone()),
    }
}

/// A reference to the same person in a CRM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CrmLink {
    pub system: String,
    /// The CRM's own id of the person.
    pub id: String,
}

/// Whether a channel has proved who sent a message. Without proof no personal record is
/// readable or writable, and no request of the org's people is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SenderProof {
    /// The channel authenticates the account, the address or the visitor.
    Proven,
    /// Anybody could have sent it in this name.
    #[default]
    Unproven,
}

/// The phone number and e-mail address of a contact.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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

/// The text cannot be an e-mail address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an e-mail address, such as ada@example.org")]
pub struct InvalidEmail(pub String);

/// Checks that a text can be an e-mail address: something, `@`, and a host, without white
/// space. Only a mail to it shows whether it is one.
pub fn check_email(address: &str) -> Result<(), InvalidEmail> {
    if is_email_address(address) { Ok(()) } else { Err(InvalidEmail(address.to_owned())) }
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

/// Returns whether a text can be a telephone number.
pub fn is_phone_number(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    (3..=20).contains(&digits)
        && text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || "+-./()".contains(c))
}

/// Returns whether a text can be an e-mail address.
pub fn is_email_address(text: &str) -> bool {
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && !"<>,;\"".contains(c);
    text.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !host.is_empty() && !host.contains('@') && text.chars().all(allowed)
    })
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
    use super::{
        Contact, ContactDetails, check_email, is_email_address, is_phone_number,
        matches_identifier, merge, normalize_identifier, search_key,
    };
    use crate::channel::Channel;
    use crate::id::ContactId;

    #[test]
    fn an_email_address_has_a_local_part_and_a_host() {
        for (text, valid) in [
            ("ada@example.org", true),
            ("ada", false),
            ("@example.org", false),
            ("ada@", false),
            ("ada lovelace@example.org", false),
            ("", false),
        ] {
            assert_eq!(check_email(text).is_ok(), valid, "{text}");
        }
    }

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
    fn o25_a_merged_contact_keeps_its_own_values_and_fills_the_gaps() {
        let contact =
            |id, name: &str, phone: Option<&str>, email: Option<&str>, tag: &str| Contact {
                id: ContactId::from_u128(id),
                name: name.into(),
                details: ContactDetails {
                    phone: phone.map(Into::into),
                    email: email.map(Into::into),
                },
                locale: None,
                tags: [tag.to_owned()].into(),
                notes: vec!["likes blue".into(), tag.into()],
                crm: None,
            };
        let kept = contact(1, "Rosa", Some("+39 1"), None, "vip");
        let other = contact(2, "Rosa B.", Some("+39 2"), Some("rosa@x.it"), "web");
        let merged = merge(&kept, &other);
        let mut expected = contact(1, "Rosa", Some("+39 1"), Some("rosa@x.it"), "vip");
        expected.tags.insert("web".into());
        expected.notes = ["likes blue", "vip", "web"].map(String::from).into();
        assert_eq!(merged, expected);
        let unnamed = contact(3, "+39 3", Some("+39 3"), None, "vip");
        assert_eq!(merge(&unnamed, &other).name, "Rosa B.");
    }

    #[test]
    fn phone_numbers_and_email_addresses_are_recognized() {
        for (text, phone, email) in [
            ("+39 06 123-4567", true, false),
            ("(06) 1234.56/7", true, false),
            ("12", false, false),
            ("call me", false, false),
            ("rosa@example.com", false, true),
            ("rosa@localhost", false, true),
            ("@example.com", false, false),
            ("rosa@", false, false),
            ("a@b@c", false, false),
            ("rosa @example.com", false, false),
            ("Rosa <rosa@example.com>", false, false),
        ] {
            assert_eq!((is_phone_number(text), is_email_address(text)), (phone, email), "{text}");
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
