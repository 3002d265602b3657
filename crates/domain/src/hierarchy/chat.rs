//! Which org a chat belongs to, by the bot it came through.

use serde::{Deserialize, Serialize};

use crate::id::OrgId;
use crate::org::Relation;
use crate::session::key::{Arrival, Entry, entry_of};

/// Whose bot a message came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bot {
    /// The platform's.
    Platform(OrgId),
    /// A client's own.
    Client(OrgId),
}

/// What is known of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatFacts {
    /// The bot.
    pub bot: Bot,
    /// The org that a deep link names.
    pub deep_link: Option<OrgId>,
    /// The org that the writer has switched to, or owns.
    pub own_org: Option<OrgId>,
    /// How the org that is reached is related to one that the writer owns.
    pub owned: Option<Relation>,
    /// Whether this chat has been here before.
    pub known: bool,
}

/// Where a chat goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatResolution {
    /// The org.
    pub organization_id: OrgId,
    /// Whether the chat is here for the first time.
    pub is_new: bool,
    /// Whether the platform's system agent answers.
    pub route_to_system_bot: bool,
    /// Whether the agency's owner is trying the client's agents out.
    pub testing_mode: bool,
}

/// Where a chat goes: a client's bot serves its client, the platform's bot
/// follows a deep link, else brings owners to their own org and strangers to
/// the system agent.
pub fn resolve(facts: &ChatFacts) -> ChatResolution {
    let (organization_id, route_to_system_bot) = match (facts.bot, facts.deep_link, facts.own_org) {
        (Bot::Client(org), _, _) | (Bot::Platform(_), Some(org), _) => (org, false),
        (Bot::Platform(_), None, Some(own)) => (own, false),
        (Bot::Platform(platform), None, None) => (platform, true),
    };
    // A link to another org than the one that is reached says nothing.
    let linked = facts.deep_link == Some(organization_id);
    let arrival = if linked { Arrival::DeepLink } else { Arrival::OrgSwitch };
    ChatResolution {
        organization_id,
        is_new: !facts.known,
        route_to_system_bot,
        testing_mode: entry_of(facts.owned, arrival) == Entry::Testing,
    }
}

/// The first message of a conversation that is a test.
pub fn testing_greeting(client: &str, agent: &str) -> String {
    format!("Welcome to testing mode for {client}. You are talking to {agent}.")
}

#[cfg(test)]
mod tests {
    use super::{Bot, ChatFacts, ChatResolution, resolve, testing_greeting};
    use crate::id::OrgId;
    use crate::org::Relation;

    const PLATFORM: OrgId = OrgId::from_u128(1);
    const AGENCY: OrgId = OrgId::from_u128(2);
    const BELLA: OrgId = OrgId::from_u128(3);

    /// L50, L54: bot, deep link, owner and stranger.
    #[test]
    fn l50_a_chat_goes_where_its_bot_and_writer_say() {
        let stranger = ChatFacts {
            bot: Bot::Platform(PLATFORM),
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
        let customer = ChatFacts { bot: Bot::Client(BELLA), known: true, ..stranger };
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
                ChatFacts { bot: Bot::Client(BELLA), deep_link: Some(AGENCY), ..testing },
                goes(BELLA, false, false, false),
            ),
            ("customer", customer, goes(BELLA, false, false, false)),
        ];
        for (who, facts, expected) in table {
            assert_eq!(resolve(&facts), expected, "{who}");
        }
    }

    /// L36: the greeting says that it is a test, and for whom.
    #[test]
    fn l36_a_test_is_greeted_as_one() {
        let greeting = testing_greeting("Bella Pizza", "Gia");
        assert!(greeting.contains("testing mode for Bella Pizza"), "{greeting}");
    }
}
