//! Contacts: recognizing a person by what a channel knows of them.

use serde::{Deserialize, Serialize};

use crate::channel::Channel;

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
    let same = |known: &Option<String>, normal: fn(&str) -> String| {
        let wanted = normal(identifier);
        !wanted.is_empty() && known.as_deref().is_some_and(|known| normal(known) == wanted)
    };
    (channel.uses_phone_numbers() && same(&details.phone, phone)) || same(&details.email, email)
}

fn phone(number: &str) -> String {
    number.chars().filter(|c| !c.is_whitespace()).collect()
}

fn email(address: &str) -> String {
    address.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{ContactDetails, is_known_as};
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
}
