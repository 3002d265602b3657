//! The conversation key: what order and the lease are kept on.

use serde::{Deserialize, Serialize};

use crate::agent::routing::Entry;
use crate::id::{BindingId, ContactId, OrgId};

/// Whom the org talks to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// One contact.
    Contact(ContactId),
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
    use super::{ConversationKey, Peer};
    use crate::agent::routing::Entry;
    use crate::id::{BindingId, ContactId, OrgId};

    /// A10: the same org, binding, contact and entry, and nothing less, is the
    /// same conversation.
    #[test]
    fn a10_any_difference_is_another_conversation() {
        let key = ConversationKey {
            org: OrgId::from_u128(1),
            binding: BindingId::from_u128(1),
            peer: Peer::Contact(ContactId::from_u128(1)),
            entry: Entry::Customer,
        };
        assert_eq!(key, key.clone());
        let others = [
            ConversationKey { org: OrgId::from_u128(2), ..key.clone() },
            ConversationKey { binding: BindingId::from_u128(2), ..key.clone() },
            ConversationKey { peer: Peer::Contact(ContactId::from_u128(2)), ..key.clone() },
            ConversationKey { peer: Peer::Group("1".into()), ..key.clone() },
            ConversationKey { entry: Entry::Owner, ..key.clone() },
            ConversationKey { entry: Entry::Testing, ..key.clone() },
        ];
        for (n, other) in others.iter().enumerate() {
            assert_ne!(&key, other, "{n}");
            assert_eq!(others.iter().filter(|another| *another == other).count(), 1, "{n}");
        }
    }
}
