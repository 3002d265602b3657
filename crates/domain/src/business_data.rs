//! The business data of an org that people import and look up: its kinds, and the own
//! key by which a record is recognized when it is imported again.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contact::{normalize_email, normalize_phone};

/// A kind of business data.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DataKind {
    Contacts,
    Products,
    Events,
    Forms,
    Orders,
    Media,
}

/// The text is not the name of a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of data; use contacts, products, events, forms, orders or media")]
pub struct UnknownDataKind(pub String);

impl DataKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Contacts, Self::Products, Self::Events, Self::Forms, Self::Orders, Self::Media];

    /// Returns the name that people use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contacts => "contacts",
            Self::Products => "products",
            Self::Events => "events",
            Self::Forms => "forms",
            Self::Orders => "orders",
            Self::Media => "media",
        }
    }

    /// Returns the name of one item, which is also the kind of its stored record.
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Contacts => "contact",
            Self::Products => "product",
            Self::Events => "event",
            Self::Forms => "form",
            Self::Orders => "order",
            Self::Media => "media",
        }
    }

    /// Returns the fields that hold the own key, the first that is filled wins.
    pub const fn key_fields(self) -> &'static [&'static str] {
        match self {
            Self::Contacts => &["key", "email", "phone"],
            Self::Products => &["key", "sku"],
            Self::Orders => &["key", "number"],
            Self::Events | Self::Forms | Self::Media => &["key"],
        }
    }

    /// Normalizes an own key for comparison. Returns `None` if nothing is left.
    pub fn normalize_key(self, key: &str) -> Option<String> {
        let key = key.trim();
        let key = match self {
            Self::Contacts if key.contains('@') => normalize_email(key)?,
            Self::Contacts => normalize_phone(key)?,
            Self::Orders => key.trim_start_matches('#').to_lowercase(),
            Self::Products | Self::Events | Self::Forms | Self::Media => key.to_owned(),
        };
        (!key.is_empty()).then_some(key)
    }
}

impl fmt::Display for DataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DataKind {
    type Err = UnknownDataKind;

    fn from_str(text: &str) -> Result<Self, UnknownDataKind> {
        let text = text.trim().to_lowercase();
        let known =
            Self::ALL.into_iter().find(|kind| kind.name() == text || kind.singular() == text);
        known.ok_or(UnknownDataKind(text))
    }
}

#[cfg(test)]
mod tests {
    use super::DataKind::{Contacts, Orders, Products};
    use super::{DataKind, UnknownDataKind};

    #[test]
    fn a_kind_is_read_by_its_plural_and_its_singular() {
        for kind in DataKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(kind.singular().parse(), Ok(kind));
        }
        assert_eq!("cars".parse::<DataKind>(), Err(UnknownDataKind("cars".into())));
    }

    #[test]
    fn o16_spellings_of_one_key_are_equal() {
        let table = [
            (Contacts, " Rosa@Example.com", Some("rosa@example.com")),
            (Contacts, "+39 06 1234", Some("+39061234")),
            (Orders, "#A-17 ", Some("a-17")),
            (Orders, "#", None),
            (Products, " Bell-1 ", Some("Bell-1")),
            (Products, "  ", None),
        ];
        for (kind, key, expected) in table {
            assert_eq!(kind.normalize_key(key).as_deref(), expected, "{kind} {key}");
        }
    }
}
