//! Routing: which agent answers a customer, and which an owner.

use super::subtype::Subtype;
use super::{Agent, AgentKind};
use crate::id::AgentId;
use crate::session::key::ConversationEntry;

/// An agent that could answer a message.
#[derive(Debug, Clone, Copy)]
pub struct RoutingCandidate<'a> {
    pub agent: &'a Agent,
    pub binding: AgentBinding,
}

/// How an agent is connected to the channel of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentBinding {
    /// The binding that the message came through names it.
    Named,
    /// Another enabled binding of the same channel names it.
    SameChannel,
    None,
}

/// No agent can answer. The caller falls back to the system agent or reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no active agent can answer in this org")]
pub struct NoAgentAvailable;

/// Chooses the agent that answers a message.
///
/// A test message goes to the agent it names, or to nobody. A customer reaches the agent
/// that the binding names. Any other message is routed by role (customer service for
/// customers, the PM for owners, and the PM where customer service is missing), then by an
/// enabled binding for the channel, then to the oldest agent.
pub fn choose<'a>(
    entry: ConversationEntry,
    named: Option<AgentId>,
    candidates: impl IntoIterator<Item = RoutingCandidate<'a>>,
) -> Result<&'a Agent, NoAgentAvailable> {
    let named = named.filter(|_| entry == ConversationEntry::Testing);
    candidates
        .into_iter()
        .filter(|candidate| candidate.agent.receives_messages())
        // Workers are assigned to sessions through their template.
        .filter(|candidate| candidate.agent.kind != AgentKind::Worker)
        .filter(|candidate| named.is_none_or(|named| named == candidate.agent.id))
        .min_by_key(|RoutingCandidate { agent, binding }| {
            let named = entry == ConversationEntry::Customer && *binding == AgentBinding::Named;
            let bound = *binding != AgentBinding::None;
            (!named, role_rank(entry, &agent.subtype), !bound, agent.created_at, agent.id)
        })
        .map(|candidate| candidate.agent)
        .ok_or(NoAgentAvailable)
}

/// Ranks a role for a kind of entry; the lowest rank answers.
const fn role_rank(entry: ConversationEntry, subtype: &Subtype) -> u8 {
    match (entry, subtype) {
        (ConversationEntry::Customer, Subtype::CustomerService)
        | (ConversationEntry::Owner | ConversationEntry::Testing, Subtype::Pm) => 0,
        (ConversationEntry::Customer, Subtype::Pm) => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentBinding, NoAgentAvailable, RoutingCandidate, choose};
    use crate::agent::subtype::Subtype;
    use crate::agent::{Agent, AgentKind, AgentStatus};
    use crate::session::key::ConversationEntry;
    use crate::testing;
    use crate::time::Timestamp;

    fn agent(slug: &str, subtype: &str, age: i64) -> Agent {
        let mut agent = testing::agent(slug, Subtype::from(subtype));
        agent.created_at = Timestamp::from_millis(1000 - age);
        agent
    }

    fn chosen(
        entry: ConversationEntry,
        named: Option<&Agent>,
        from: &[(&Agent, bool)],
    ) -> Result<String, NoAgentAvailable> {
        let candidates = from.iter().map(|&(agent, bound)| RoutingCandidate {
            agent,
            binding: if bound { AgentBinding::SameChannel } else { AgentBinding::None },
        });
        choose(entry, named.map(|agent| agent.id), candidates).map(|agent| agent.slug.clone())
    }

    /// A06, L13, L14, L15, L46, L54: role first, then binding, then age.
    #[test]
    fn l13_the_role_decides_then_the_binding_then_age() {
        let pm = agent("luca", "pm", 50);
        let service = agent("gia", "customer_service", 10);
        let older_service = agent("ada", "customer_service", 20);
        let sales = agent("sam", "sales_assistant", 90);
        let older_sales = agent("sue", "sales_assistant", 95);
        type Case<'a> = (&'a str, ConversationEntry, &'a [(&'a Agent, bool)], &'a str);
        let table: [Case<'_>; 9] = [
            ("L13", ConversationEntry::Customer, &[(&pm, true), (&service, true)], "gia"),
            (
                "L13 even unbound",
                ConversationEntry::Customer,
                &[(&pm, true), (&service, false)],
                "gia",
            ),
            ("L14", ConversationEntry::Owner, &[(&service, true), (&pm, false)], "luca"),
            ("L54", ConversationEntry::Testing, &[(&service, true), (&pm, true)], "luca"),
            ("L15", ConversationEntry::Customer, &[(&sales, true), (&pm, true)], "luca"),
            ("L46", ConversationEntry::Customer, &[(&pm, false)], "luca"),
            (
                "A06 bound first",
                ConversationEntry::Customer,
                &[(&older_service, false), (&service, true)],
                "gia",
            ),
            (
                "A06 then oldest",
                ConversationEntry::Customer,
                &[(&service, true), (&older_service, true)],
                "ada",
            ),
            (
                "A06 the rest",
                ConversationEntry::Customer,
                &[(&sales, true), (&older_sales, false)],
                "sam",
            ),
        ];
        for (row, entry, from, expected) in table {
            assert_eq!(chosen(entry, None, from).as_deref(), Ok(expected), "{row}");
        }
    }

    /// L13: customers reach the agent that the binding names, whatever its role; the role
    /// rules decide if it receives no messages, and for owners.
    #[test]
    fn l13_customers_reach_the_agent_that_the_binding_names() {
        let (service, pm) = (agent("gia", "customer_service", 10), agent("luca", "pm", 50));
        let mut billing = agent("enzo", "billing_specialist", 5);
        let route = |entry, billing: &Agent| {
            let candidates = [
                RoutingCandidate { agent: &service, binding: AgentBinding::SameChannel },
                RoutingCandidate { agent: &pm, binding: AgentBinding::None },
                RoutingCandidate { agent: billing, binding: AgentBinding::Named },
            ];
            choose(entry, None, candidates).map(|agent| agent.slug.clone())
        };
        assert_eq!(route(ConversationEntry::Customer, &billing).as_deref(), Ok("enzo"));
        assert_eq!(route(ConversationEntry::Owner, &billing).as_deref(), Ok("luca"));
        billing.status = AgentStatus::Paused;
        assert_eq!(route(ConversationEntry::Customer, &billing).as_deref(), Ok("gia"));
    }

    /// L54: a deep link opens the agent it names, for a test and only then.
    #[test]
    fn l54_a_test_reaches_the_agent_it_names() {
        let (pm, service) = (agent("luca", "pm", 50), agent("gia", "customer_service", 10));
        let both = [(&pm, true), (&service, true)];
        assert_eq!(chosen(ConversationEntry::Testing, Some(&service), &both).as_deref(), Ok("gia"));
        assert_eq!(chosen(ConversationEntry::Customer, Some(&pm), &both).as_deref(), Ok("gia"));
        assert_eq!(chosen(ConversationEntry::Owner, Some(&service), &both).as_deref(), Ok("luca"));
        let mut paused = agent("gia", "customer_service", 10);
        paused.status = AgentStatus::Paused;
        let with_paused = [(&pm, true), (&paused, true)];
        assert_eq!(
            chosen(ConversationEntry::Testing, Some(&paused), &with_paused),
            Err(NoAgentAvailable)
        );
    }

    /// A06, A07, H06: an agent that does not receive messages is never chosen, and no
    /// agent at all is an error.
    #[test]
    fn h06_a_template_is_never_chosen() {
        let mut template = agent("pattern", "customer_service", 99);
        template.kind = AgentKind::Template;
        let mut paused = agent("paula", "customer_service", 98);
        paused.status = AgentStatus::Paused;
        let mut coordinator = agent("cora", "coordinator", 97);
        coordinator.kind = AgentKind::Internal;
        let mut worker = agent("walt", "customer_service", 96);
        worker.kind = AgentKind::Worker;
        let none = [(&worker, true), (&template, true), (&paused, true), (&coordinator, true)];
        assert_eq!(chosen(ConversationEntry::Customer, None, &none), Err(NoAgentAvailable));
        assert_eq!(
            chosen(ConversationEntry::Testing, Some(&template), &none),
            Err(NoAgentAvailable)
        );
        let pm = agent("luca", "pm", 1);
        let with_pm = [none.as_slice(), &[(&pm, false)]].concat();
        assert_eq!(chosen(ConversationEntry::Customer, None, &with_pm).as_deref(), Ok("luca"));
    }
}
