//! The conversation key, which identifies a conversation for ordering and leases.
//!
//! It names the person by the channel's identifier and not by the contact: a contact
//! may be recognized later, and the conversation must not split then.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{BindingId, OrgId};
use crate::org::Relation;
use crate::tool::Audience;

/// As what a person talks to the org. Part of the conversation key, so that the three
/// never share a session.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConversationEntry {
    Customer,
    Owner,
    /// The agency's owner testing a client's agents.
    Testing,
}

impl ConversationEntry {
    /// All entries.
    pub const ALL: [Self; 3] = [Self::Customer, Self::Owner, Self::Testing];

    /// Returns the name as stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Owner => "owner",
            Self::Testing => "testing",
        }
    }

    /// Returns for whom agents work in a conversation: a customer, unless one of the org's
    /// people opened it, or an agent by a request on the bus.
    pub const fn audience(self, is_bus_request: bool) -> Audience {
        match self {
            Self::Customer if !is_bus_request => Audience::Customer,
            _ => Audience::Staff,
        }
    }
}

/// How a logged-in person opened a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPath {
    /// By a deep link to one of the org's agents.
    DeepLink,
    /// By switching to the org.
    OrgSwitch,
}

/// Returns the entry of a person who owns an org with relation `owned` to the org of
/// the conversation. A person who owns neither is a customer.
pub const fn conversation_entry(owned: Option<Relation>, arrival: EntryPath) -> ConversationEntry {
    match (owned, arrival) {
        // The org of the conversation is a child of the agency that the person owns.
        (Some(Relation::Child), EntryPath::DeepLink) => ConversationEntry::Testing,
        (Some(Relation::Child | Relation::Own), _) => ConversationEntry::Owner,
        (Some(Relation::Parent | Relation::Unrelated) | None, _) => ConversationEntry::Customer,
    }
}

/// The other side of a conversation.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// A person, by the channel's identifier. It stays the same when the person becomes a
    /// known contact.
    Person(String),
    /// A group chat, by the channel's identifier.
    Group(String),
}

/// Identifies a conversation: two messages belong to the same one exactly when their
/// keys are equal. A session is the current life of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConversationKey {
    pub org: OrgId,
    pub binding: BindingId,
    pub peer: Peer,
    /// Keeps a test, or an owner's talk with the PM, apart from a customer's conversation.
    pub entry: ConversationEntry,
}

impl ConversationKey {
    /// Returns the key within its org as text: `binding/entry/p:person`. The store
    /// identifies conversations by it, so the format never changes.
    pub fn to_text(&self) -> String {
        let (kind, name) = match &self.peer {
            Peer::Person(name) => ('p', name),
            Peer::Group(name) => ('g', name),
        };
        format!("{}/{}/{kind}:{name}", self.binding, self.entry.name())
    }

    /// Parses the text of a key; returns `None` if the format is unknown.
    pub fn parse(org: OrgId, text: &str) -> Option<Self> {
        let (binding, rest) = text.split_once('/')?;
        let (entry, peer) = rest.split_once('/')?;
        let peer = match peer.split_once(':')? {
            ("p", name) => Peer::Person(name.to_owned()),
            ("g", name) => Peer::Group(name.to_owned()),
            _ => return None,
        };
        let entry = ConversationEntry::ALL.into_iter().find(|known| known.name() == entry)?;
        Some(Self { org, binding: binding.parse().ok()?, peer, entry })
    }
}

#[cfg(test)]
mod tests {
    use super::{ConversationEntry, ConversationKey, EntryPath, Peer, conversation_entry};
    use crate::id::{BindingId, OrgId};
    use crate::org::Relation;

    /// A10: only the same org, binding, contact and entry make the same conversation.
    #[test]
    fn a10_any_difference_is_another_conversation() {
        let key = ConversationKey {
            org: OrgId::from_u128(1),
            binding: BindingId::from_u128(1),
            peer: Peer::Person("1".into()),
            entry: ConversationEntry::Customer,
        };
        assert_eq!(key, key.clone());
        let others = [
            ConversationKey { org: OrgId::from_u128(2), ..key.clone() },
            ConversationKey { binding: BindingId::from_u128(2), ..key.clone() },
            ConversationKey { peer: Peer::Person("2".into()), ..key.clone() },
            ConversationKey { peer: Peer::Group("1".into()), ..key.clone() },
            ConversationKey { entry: ConversationEntry::Owner, ..key.clone() },
            ConversationKey { entry: ConversationEntry::Testing, ..key.clone() },
        ];
        for (n, other) in others.iter().enumerate() {
            assert_ne!(&key, other, "{n}");
            assert_eq!(others.iter().filter(|another| *another == other).count(), 1, "{n}");
        }
    }

    /// L34, L54: the agency's owner tests by deep link and works by switching;
    /// everybody else is not testing.
    #[test]
    fn l34_only_the_agencys_owner_tests_by_deep_link() {
        use Relation::{Child, Own, Parent, Unrelated};
        let table = [
            (Some(Child), EntryPath::DeepLink, ConversationEntry::Testing),
            (Some(Child), EntryPath::OrgSwitch, ConversationEntry::Owner),
            (Some(Own), EntryPath::DeepLink, ConversationEntry::Owner),
            (Some(Own), EntryPath::OrgSwitch, ConversationEntry::Owner),
            (Some(Parent), EntryPath::DeepLink, ConversationEntry::Customer),
            (Some(Unrelated), EntryPath::DeepLink, ConversationEntry::Customer),
            (None, EntryPath::DeepLink, ConversationEntry::Customer),
            (None, EntryPath::OrgSwitch, ConversationEntry::Customer),
        ];
        for (owned, arrival, expected) in table {
            assert_eq!(conversation_entry(owned, arrival), expected, "{owned:?} {arrival:?}");
        }
    }

    /// A10: the text of a key has a fixed format and is parsed back, whatever identifiers
    /// the channel uses.
    #[test]
    fn a10_a_key_is_written_and_parsed_back() {
        let key = |peer, entry| ConversationKey {
            org: OrgId::from_u128(1),
            binding: BindingId::from_u128(7),
            peer,
            entry,
        };
        let rosa = key(Peer::Person("rosa".into()), ConversationEntry::Customer);
        assert_eq!(rosa.to_text(), "bnd_00000000000000000000000007/customer/p:rosa");
        let identifiers = ["", "/", "a:b/c", "p:x", "+39 06", "🍕"];
        for name in identifiers {
            for peer in [Peer::Person(name.into()), Peer::Group(name.into())] {
                for entry in ConversationEntry::ALL {
                    let key = key(peer.clone(), entry);
                    assert_eq!(ConversationKey::parse(key.org, &key.to_text()), Some(key));
                }
            }
        }
        for text in ["", "x", "bnd_0/customer/p:x", &rosa.to_text().replace("/p:", "/z:")] {
            assert_eq!(ConversationKey::parse(OrgId::from_u128(1), text), None, "{text}");
        }
    }
}
