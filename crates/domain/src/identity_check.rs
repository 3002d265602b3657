//! The check by which an org lets customers prove who they are: the number of an order, and
//! what the org knows of the person who ordered.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use crate::contact::{ContactDetails, normalize_email, normalize_phone};
use crate::id::ContactId;
use crate::tool::{ToolGroup, ToolName, ToolSpec};

/// The tool that makes the check.
pub const VERIFY_IDENTITY: ToolName = ToolName::from_static("verify_identity");
/// The kind of the effect of a passed check, with [`ProvenContact`] as its data.
pub const PROVEN_CONTACT: &str = "proven_contact";
/// How many attempts a conversation has in a day, unless the org says otherwise.
const DEFAULT_ATTEMPTS: u32 = 3;
const MAX_ATTEMPTS: u32 = 10;
/// How many times the attempts of one conversation all conversations together have for an order.
const CONVERSATIONS_PER_ORDER: u32 = 3;

/// How customers prove who they are, besides what their channel proves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityCheck {
    /// What a customer gives besides the number of an order: `email`, `phone` or both.
    #[serde(default = "email", deserialize_with = "some_details")]
    #[schemars(length(min = 1))]
    pub with: BTreeSet<IdentityDetail>,
    /// How many attempts a conversation has in a day, 1 to 10.
    #[serde(default = "default_attempts", deserialize_with = "few_attempts")]
    #[schemars(range(min = 1, max = 10))]
    pub attempts: u32,
}

/// What an org knows of a person.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IdentityDetail {
    Email,
    Phone,
}

/// The contact that a customer has proven to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenContact {
    pub contact: ContactId,
}

impl Default for IdentityCheck {
    fn default() -> Self {
        Self { with: email(), attempts: DEFAULT_ATTEMPTS }
    }
}

impl IdentityCheck {
    /// Returns whether what a customer gave is what the org knows of a contact.
    pub fn matches(&self, known: &ContactDetails, given: &ContactDetails) -> bool {
        let email = |details: &ContactDetails| details.email.as_deref().and_then(normalize_email);
        let phone = |details: &ContactDetails| details.phone.as_deref().and_then(normalize_phone);
        let is_same = |detail: &IdentityDetail| match detail {
            IdentityDetail::Email => email(known).is_some() && email(known) == email(given),
            IdentityDetail::Phone => phone(known).is_some() && phone(known) == phone(given),
        };
        !self.with.is_empty() && self.with.iter().all(is_same)
    }

    /// Returns how many attempts an order has in a day, in all conversations.
    pub const fn attempts_per_order(&self) -> u32 {
        self.attempts.saturating_mul(CONVERSATIONS_PER_ORDER)
    }
}

/// Returns what policy decides by. The tool changes no record, so it never needs approval.
pub fn tool_spec() -> ToolSpec {
    ToolSpec::read(VERIFY_IDENTITY, ToolGroup::Custom).for_customers().private()
}

fn email() -> BTreeSet<IdentityDetail> {
    [IdentityDetail::Email].into()
}

const fn default_attempts() -> u32 {
    DEFAULT_ATTEMPTS
}

fn some_details<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<IdentityDetail>, D::Error> {
    let details = BTreeSet::deserialize(from)?;
    match details.is_empty() {
        true => Err(D::Error::custom("name `email`, `phone` or both")),
        false => Ok(details),
    }
}

fn few_attempts<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let attempts = u32::deserialize(from)?;
    match (1..=MAX_ATTEMPTS).contains(&attempts) {
        true => Ok(attempts),
        false => Err(D::Error::custom(format!("attempts are 1 to {MAX_ATTEMPTS}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::IdentityCheck;
    use crate::contact::ContactDetails;

    fn details(email: &str, phone: &str) -> ContactDetails {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        ContactDetails { phone: some(phone), email: some(email) }
    }

    /// S01: everything that the org asks for has to be right, and known to the org.
    #[test]
    fn s01_an_identity_check_needs_every_detail() {
        let by_email: IdentityCheck = serde_json::from_str("{}").unwrap();
        let by_both: IdentityCheck =
            serde_json::from_str(r#"{"with": ["email", "phone"], "attempts": 5}"#).unwrap();
        assert_eq!((by_email.attempts, by_both.attempts_per_order()), (3, 15));
        let rosa = details("rosa@example.com", "+39 06 1");
        for (check, known, given, passes) in [
            (&by_email, &rosa, details(" Rosa@Example.com ", ""), true),
            (&by_email, &rosa, details("otto@example.com", "+39061"), false),
            (&by_email, &rosa, details("", ""), false),
            (&by_email, &details("", "+39061"), details("", "+39061"), false),
            (&by_both, &rosa, details("rosa@example.com", "+39061"), true),
            (&by_both, &rosa, details("rosa@example.com", ""), false),
            (&by_both, &details("rosa@example.com", ""), details("rosa@example.com", ""), false),
        ] {
            assert_eq!(check.matches(known, &given), passes, "{known:?} {given:?}");
        }
    }

    #[test]
    fn an_identity_check_without_details_or_limit_is_refused() {
        for wrong in [r#"{"with": []}"#, r#"{"attempts": 0}"#, r#"{"attempts": 11}"#] {
            assert!(serde_json::from_str::<IdentityCheck>(wrong).is_err(), "{wrong}");
        }
    }
}
