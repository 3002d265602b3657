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

impl Entry {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Customer, Self::Owner, Self::Testing];

    /// The name as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Owner => "owner",
            Self::Testing => "testing",
        }
    }
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

impl ConversationKey {
    /// The key within its org as one text. Stores tell conversations apart by
    /// it, so it never changes its form: `binding/entry/p:person`.
    pub fn text(&self) -> String {
        let (kind, name) = match &self.peer {
            Peer::Person(name) => ('p', name),
            Peer::Group(name) => ('g', name),
        };
        format!("{}/{}/{kind}:{name}", self.binding, self.entry.name())
    }

    /// Reads a key's text back; nothing if it is of a form that is not known.
    pub fn read(org: OrgId, text: &str) -> Option<Self> {
        let (binding, rest) = text.split_once('/')?;
        let (entry, peer) = rest.split_once('/')?;
        let peer = match peer.split_once(':')? {
            ("p", name) => Peer::Person(name.to_owned()),
            ("g", name) => Peer::Group(name.to_owned()),
            _ => return None,
        };
        let entry = Entry::ALL.into_iter().find(|known| known.name() == entry)?;
        Some(Self { org, binding: binding.parse().ok()?, peer, entry })
    }
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

    /// A10: a key's text keeps its form and is read back, whatever the channel
    /// calls people.
    #[test]
    fn a10_a_key_is_written_and_read_back() {
        let key = |peer, entry| ConversationKey {
            org: OrgId::from_u128(1),
            binding: BindingId::from_u128(7),
            peer,
            entry,
        };
        let rosa = key(Peer::Person("rosa".into()), Entry::Customer);
        assert_eq!(rosa.text(), "bnd_00000000000000000000000007/customer/p:rosa");
        let odd = ["", "/", "a:b/c", "p:x", "+39 06", "🍕"];
        for name in odd {
            for peer in [Peer::Person(name.into()), Peer::Group(name.into())] {
                for entry in Entry::ALL {
                    let key = key(peer.clone(), entry);
                    assert_eq!(ConversationKey::read(key.org, &key.text()), Some(key));
                }
            }
        }
        for text in ["", "x", "bnd_0/customer/p:x", &rosa.text().replace("/p:", "/z:")] {
            assert_eq!(ConversationKey::read(OrgId::from_u128(1), text), None, "{text}");
        }
    }
}
