//! Details of a contact as a model gives them, validated before they are stored.

use std::collections::BTreeSet;

use ostler_domain::contact::{Contact, ContactDetails, is_email_address, is_phone_number};
use ostler_domain::id::ContactId;
use ostler_domain::knowledge::clean_tag;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Details of a person.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ContactInput {
    /// The name of the person.
    #[schemars(length(max = 200))]
    pub(crate) name: Option<String>,
    /// Telephone number, best with its country code: +39 06 1234567.
    #[schemars(length(max = 40))]
    pub(crate) phone: Option<String>,
    /// E-mail address.
    #[schemars(length(max = 254))]
    pub(crate) email: Option<String>,
    /// Language and region of the person, such as it-IT.
    #[schemars(length(max = 35))]
    pub(crate) locale: Option<String>,
    /// Words to find the person by, such as vip.
    #[schemars(length(max = 20), inner(length(max = 64)))]
    pub(crate) tags: BTreeSet<String>,
    /// Something to remember about the person.
    #[schemars(length(max = 2000))]
    pub(crate) note: Option<String>,
}

impl ContactInput {
    /// Trims all texts and drops empty ones. Fails if the phone number or the e-mail
    /// address cannot be right.
    pub(crate) fn validate(self) -> Result<Self, String> {
        let trim = |text: Option<String>| {
            text.map(|text| text.trim().replace('\0', "")).filter(|text| !text.is_empty())
        };
        let tags = self.tags.iter().map(|tag| clean_tag(tag)).filter(|tag| !tag.is_empty());
        let input = Self {
            tags: tags.collect(),
            name: trim(self.name),
            phone: trim(self.phone),
            email: trim(self.email),
            locale: trim(self.locale),
            note: trim(self.note),
        };
        match (&input.phone, &input.email) {
            (Some(phone), _) if !is_phone_number(phone) => {
                Err(format!("`{phone}` is not a telephone number"))
            }
            (_, Some(email)) if !is_email_address(email) => {
                Err(format!("`{email}` is not an e-mail address"))
            }
            _ => Ok(input),
        }
    }

    /// Moves the telephone number and the address into the note, for a contact that a customer
    /// describes. What somebody says proves nothing, so nobody must be recognized by it.
    pub(crate) fn into_unproven(mut self) -> Self {
        let (phone, email) = (self.phone.take(), self.email.take());
        self.name = self.name.or_else(|| email.clone()).or_else(|| phone.clone());
        let given = [("telephone number", phone), ("e-mail address", email)];
        let given = given.into_iter().filter_map(|(kind, value)| {
            value.map(|value| format!("gives the {kind} {value} (not proven)"))
        });
        let notes: Vec<String> = self.note.take().into_iter().chain(given).collect();
        self.note = (!notes.is_empty()).then(|| notes.join("; "));
        self
    }

    /// Creates a contact, named by its e-mail address or phone number if it has no name.
    /// Returns `None` without any of the three.
    pub(crate) fn into_contact(self, id: ContactId) -> Option<Contact> {
        let name = self.name.or_else(|| self.email.clone()).or_else(|| self.phone.clone())?;
        Some(Contact {
            id,
            name,
            details: ContactDetails { phone: self.phone, email: self.email },
            locale: self.locale,
            tags: self.tags,
            notes: self.note.into_iter().collect(),
            crm: None,
        })
    }
}

/// Returns a contact in the form that models receive.
pub(crate) fn contact_json(contact: &Contact) -> Value {
    let Contact { id, name, details, locale, tags, notes, .. } = contact;
    json!({
        "id": id, "name": name, "phone": details.phone, "email": details.email,
        "locale": locale, "tags": tags, "notes": notes,
    })
}
