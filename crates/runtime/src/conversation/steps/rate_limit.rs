//! Step 2: checks what the agent may still answer today, and reads its unread notices.

use ostler_domain::agent::limits::{
    AgentLimits, DailyUsage, RateLimitDecision, check, effective_limits,
};
use ostler_domain::agent::{Agent, AgentKind, Protection};
use ostler_domain::id::{AgentId, ConversationId};
use ostler_domain::money::Usd;
use ostler_domain::session::key::ConversationEntry;
use ostler_store::{StoreError, StoredNotice};

use crate::conversation::run_context::RunContext;
use crate::org_view::AgentView;
use crate::records::session::Session;

/// The maximum number of notices that an agent is told at once.
const MAX_NOTICES: u32 = 20;

/// The limits of an agent and what it has used today.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateCheck {
    pub(crate) limits: AgentLimits,
    pub(crate) today: DailyUsage,
    pub(crate) decision: RateLimitDecision,
}

/// What an agent has used today and has not been told yet.
pub(crate) struct DailyStatus {
    pub(crate) rate: RateCheck,
    pub(crate) notices: Vec<StoredNotice>,
}

/// Returns the agent whose limits a turn counts for. A system agent and its workers share the
/// limits of their template, however many workers there are.
pub(crate) fn counted_as(agent: &Agent) -> AgentId {
    let shared = agent.kind == AgentKind::Worker || agent.protection == Protection::Protected;
    agent.template.filter(|_| shared).unwrap_or(agent.id)
}

/// Returns the name of the counter of an agent's messages. Tests have one of their own, so
/// that they take nothing away from customers.
pub(crate) fn message_counter(agent: AgentId, entry: ConversationEntry) -> String {
    match entry {
        ConversationEntry::Testing => format!("test_messages:{agent}"),
        ConversationEntry::Customer | ConversationEntry::Owner => format!("messages:{agent}"),
    }
}

/// Returns the name of the counter of an agent's cost, in millionths of a dollar.
pub(crate) fn cost_counter(agent: AgentId, entry: ConversationEntry) -> String {
    match entry {
        ConversationEntry::Testing => format!("test_cost:{agent}"),
        ConversationEntry::Customer | ConversationEntry::Owner => format!("cost:{agent}"),
    }
}

/// Returns the name of the counter of an agent's messages in one conversation.
pub(crate) fn conversation_counter(
    agent: AgentId,
    conversation: ConversationId,
    entry: ConversationEntry,
) -> String {
    format!("{}:{conversation}", message_counter(agent, entry))
}

/// Checks the agent's limits of the day.
pub(crate) async fn run(
    context: &RunContext<'_>,
    agent: &AgentView,
    session: &Session,
) -> Result<DailyStatus, StoreError> {
    let (counted, entry) = (counted_as(&agent.agent), session.entry);
    let conversation = context.lease.conversation();
    let counters = [
        &*message_counter(counted, entry),
        &*cost_counter(counted, entry),
        &*conversation_counter(counted, conversation, entry),
    ];
    let day = context.store().agent_daily_usage(agent.agent.id, counters, MAX_NOTICES).await?;
    let [messages, cost, in_conversation] = day.counters;
    let today = DailyUsage {
        day: context.now.utc_day(),
        messages: u32::try_from(messages.used).unwrap_or(u32::MAX),
        cost: Usd::from_micros(cost.used),
    };
    let platform_limits = context.services.deps.settings.platform_limits;
    let limits = effective_limits(&agent.agent, platform_limits);
    // Only customers share an agent with others.
    let in_conversation = match entry {
        ConversationEntry::Customer => u32::try_from(in_conversation.used).unwrap_or(u32::MAX),
        ConversationEntry::Owner | ConversationEntry::Testing => 0,
    };
    let decision = check(limits, today, in_conversation, session.limit_notice_day, context.now);
    Ok(DailyStatus { rate: RateCheck { limits, today, decision }, notices: day.notices })
}
