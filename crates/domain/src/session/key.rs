//! The conversation key: what order and the lease are kept on.

use serde::{Deserialize, Serialize};

use crate::id::{BindingId, OrgId};
use crate::org::Relation;

/// How the writer came in. Part of the conversation key, so that the three
/// never share a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A person outside.
    Customer,
    /// An owner at work.
    Owner,
    /// The agency's owner trying a client's agents out.
    Testing,
}

/// How a person with a log-in opened a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// By a deep link to one of the org's agents.
    DeepLink,
    /// By switching to the org.
    OrgSwitch,
}

/// The entry of a person who owns an org so related to the one they reach; a
/// person who owns neither is a customer, however they came.
pub const fn entry_of(owned: Option<Relation>, arrival: Arrival) -> Entry {
    match (owned, arrival) {
        // The agency's owner: the org that is reached is a child of theirs.
        (Some(Relation::Child), Arrival::DeepLink) => Entry::Testing,
        (Some(Relation::Child | Relation::Own), _) => Entry::Owner,
        (Some(Relation::Parent | Relation::Unrelated) | None, _) => Entry::Customer,
    }
}

/// Whom the org talks to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// A person, by what the channel knows them as. Whether they are a known
    /// contact may change; whom the org talks to does not.
    Person(String),
    /// A group chat, by the channel's own name for it.
    Group(String),
}

/// One conversation. Two messages belong to the same one exactly when their
/// keys are equal; a session is the current life of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConversationKey {
    /// The tenant.
    pub org: OrgId,
    /// The channel binding.
    pub binding: BindingId,
    /// Whom the org talks to.
    pub peer: Peer,
    /// How they came in, so that a test or an owner's talk with the PM never
    /// mixes with a customer's conversation.
    pub entry: Entry,
}

#[cfg(test)]
mod tests {
    use super::{Arrival, ConversationKey, Entry, Peer, entry_of};
    use crate::id::{BindingId, OrgId};
    use crate::org::Relation;

    /// A10: the same org, binding, contact and entry, and nothing less, is the
    /// same conversation.
    #[test]
    fn a10_any_difference_is_another_conversation() {
        let key = ConversationKey {
            org: OrgId::from_u128(1),
            binding: BindingId::from_u128(1),
            peer: Peer::Person("1".into()),
            entry: Entry::Customer,
        };
        assert_eq!(key, key.clone());
        let others = [
            ConversationKey { org: OrgId::from_u128(2), ..key.clone() },
            ConversationKey { binding: BindingId::from_u128(2), ..key.clone() },
            ConversationKey { peer: Peer::Person("2".into()), ..key.clone() },
            ConversationKey { peer: Peer::Group("1".into()), ..key.clone() },
            ConversationKey { entry: Entry::Owner, ..key.clone() },
            ConversationKey { entry: Entry::Testing, ..key.clone() },
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
            (Some(Child), Arrival::DeepLink, Entry::Testing),
            (Some(Child), Arrival::OrgSwitch, Entry::Owner),
            (Some(Own), Arrival::DeepLink, Entry::Owner),
            (Some(Own), Arrival::OrgSwitch, Entry::Owner),
            (Some(Parent), Arrival::DeepLink, Entry::Customer),
            (Some(Unrelated), Arrival::DeepLink, Entry::Customer),
            (None, Arrival::DeepLink, Entry::Customer),
            (None, Arrival::OrgSwitch, Entry::Customer),
        ];
        for (owned, arrival, expected) in table {
            assert_eq!(entry_of(owned, arrival), expected, "{owned:?} {arrival:?}");
        }
    }
}
