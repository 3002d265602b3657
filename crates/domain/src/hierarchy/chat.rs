//! Which org a chat belongs to, by the bot that received it.

use serde::{Deserialize, Serialize};

use crate::id::OrgId;
use crate::org::Relation;
use crate::session::key::{ConversationEntry, EntryPath, conversation_entry};

/// The owner of the bot that received a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BotOwner {
    /// The shared bot of the platform.
    Platform(OrgId),
    /// A client's own bot.
    Client(OrgId),
}

/// What is known about a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatFacts {
    pub bot: BotOwner,
    /// The org that a deep link names.
    pub deep_link: Option<OrgId>,
    /// The org that the sender has switched to, or owns.
    pub own_org: Option<OrgId>,
    /// How the reached org is related to an org that the sender owns.
    pub owned: Option<Relation>,
    /// Whether this chat has been seen before.
    pub known: bool,
}

/// The org and agent that a chat is routed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatResolution {
    pub organization_id: OrgId,
    /// Whether the chat is seen for the first time.
    pub is_new: bool,
    /// Whether the platform's system agent answers.
    pub route_to_system_bot: bool,
    /// Whether the agency's owner is testing the client's agents.
    pub testing_mode: bool,
}

/// Returns the org that a chat reaches. A client's bot serves its client. The platform's bot
/// follows a deep link, else routes owners to their own org and strangers to the platform.
pub fn reached_org(bot: BotOwner, deep_link: Option<OrgId>, own_org: Option<OrgId>) -> OrgId {
    match bot {
        BotOwner::Client(org) => org,
        BotOwner::Platform(platform) => deep_link.or(own_org).unwrap_or(platform),
    }
}

/// Routes a chat to the org that it [reaches](reached_org); strangers on the platform's bot
/// reach the system agent.
pub fn resolve(facts: &ChatFacts) -> ChatResolution {
    let organization_id = reached_org(facts.bot, facts.deep_link, facts.own_org);
    let route_to_system_bot =
        matches!(facts.bot, BotOwner::Platform(platform) if platform == organization_id);
    // A deep link to another org than the one reached is ignored.
    let linked = facts.deep_link == Some(organization_id);
    let arrival = if linked { EntryPath::DeepLink } else { EntryPath::OrgSwitch };
    ChatResolution {
        organization_id,
        is_new: !facts.known,
        route_to_system_bot,
        testing_mode: conversation_entry(facts.owned, arrival) == ConversationEntry::Testing,
    }
}

/// Returns the first message of a test conversation.
pub fn testing_greeting(client: &str, agent: &str) -> String {
    format!(
        "Welcome to testing mode for {client}. You are talking to {agent}. Send /exit to leave."
    )
}

#[cfg(test)]
mod tests {
    use super::{BotOwner, ChatFacts, ChatResolution, resolve, testing_greeting};
    use crate::id::OrgId;
    use crate::org::Relation;

    const PLATFORM: OrgId = OrgId::from_u128(1);
    const AGENCY: OrgId = OrgId::from_u128(2);
    const BELLA: OrgId = OrgId::from_u128(3);

    /// L50, L54: bot, deep link, owner and stranger.
    #[test]
    fn l50_a_chat_is_routed_by_bot_deep_link_and_sender() {
        let stranger = ChatFacts {
            bot: BotOwner::Platform(PLATFORM),
            deep_link: None,
            own_org: None,
            owned: None,
            known: false,
        };
        let owner = ChatFacts {
            own_org: Some(AGENCY),
            owned: Some(Relation::Own),
            known: true,
            ..stranger
        };
        let testing = ChatFacts { deep_link: Some(BELLA), owned: Some(Relation::Child), ..owner };
        let linked = ChatFacts { deep_link: Some(BELLA), ..stranger };
        let customer = ChatFacts { bot: BotOwner::Client(BELLA), known: true, ..stranger };
        let goes = |organization_id, is_new, route_to_system_bot, testing_mode| ChatResolution {
            organization_id,
            is_new,
            route_to_system_bot,
            testing_mode,
        };
        let table = [
            ("stranger", stranger, goes(PLATFORM, true, true, false)),
            ("owner", owner, goes(AGENCY, false, false, false)),
            ("owner's deep link", testing, goes(BELLA, false, false, true)),
            ("stranger's deep link", linked, goes(BELLA, true, false, false)),
            (
                "a link to another org on a client's bot",
                ChatFacts { bot: BotOwner::Client(BELLA), deep_link: Some(AGENCY), ..testing },
                goes(BELLA, false, false, false),
            ),
            ("customer", customer, goes(BELLA, false, false, false)),
        ];
        for (name, facts, expected) in table {
            assert_eq!(resolve(&facts), expected, "{name}");
        }
    }

    /// L36: the greeting says that it is a test, and for whom.
    #[test]
    fn l36_the_greeting_of_a_test_says_so() {
        let greeting = testing_greeting("Bella Pizza", "Gia");
        assert!(greeting.contains("testing mode for Bella Pizza"), "{greeting}");
    }
}
