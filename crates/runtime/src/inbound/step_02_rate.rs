//! Step 2: whether the agent may answer one more message today, and what it has
//! not been told yet.

use ostler_domain::agent::limits::{AgentLimits, DayCounters, RateVerdict, check, limits_of};
use ostler_domain::id::AgentId;
use ostler_domain::money::Usd;
use ostler_store::{StoreError, StoredNotice};

use super::case::Case;
use crate::org_view::AgentView;
use crate::talk::session::Session;

/// The most notices that an agent is told at once.
const NOTICES: u32 = 20;

/// The limits of an agent, and what it has done today.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) limits: AgentLimits,
    pub(super) today: DayCounters,
    pub(super) verdict: RateVerdict,
}

/// An agent's day.
pub(super) struct Day {
    pub(super) rate: Rate,
    /// What it has not been told.
    pub(super) notices: Vec<StoredNotice>,
}

/// Under which name an agent's messages are counted.
pub(super) fn messages_of(agent: AgentId) -> String {
    format!("messages:{agent}")
}

/// Under which name an agent's cost is counted, in millionths of a dollar.
pub(super) fn cost_of(agent: AgentId) -> String {
    format!("cost:{agent}")
}

/// Looks at the agent's day.
pub(super) async fn look(
    case: &Case<'_>,
    agent: &AgentView,
    session: &Session,
) -> Result<Day, StoreError> {
    let id = agent.agent.id;
    let names = [&*messages_of(id), &*cost_of(id)];
    let day = case.store().agent_day(id, names, NOTICES).await?;
    let [messages, cost] = day.counted;
    let today = DayCounters {
        day: case.now.utc_day(),
        messages: u32::try_from(messages.used).unwrap_or(u32::MAX),
        cost: Usd::from_micros(cost.used),
    };
    let limits = limits_of(&agent.agent, case.desk.parts.settings.platform_limits);
    let verdict = check(limits, today, session.told_limit_on, case.now);
    Ok(Day { rate: Rate { limits, today, verdict }, notices: day.notices })
}
