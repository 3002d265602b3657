//! Why an agent has a tool in a session, or has it not.

use std::sync::Arc;

use ostler_domain::gate::{Authority, GateFacts, Verdict, decide};
use ostler_domain::id::{OrgId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::org::Org;
use ostler_domain::scope::ToolScope;
use ostler_domain::tool::Trust;
use ostler_engine::tool::ToolSet;
use ostler_store::Store;

use crate::inbound::RunError;
use crate::inbound::step_06_history::{MESSAGES, items, messages, trust};
use crate::inbound::step_07_tools;
use crate::inbound::step_07b_credits::{PLENTY, payer};
use crate::org_view::{AgentView, OrgView};
use crate::talk::read;
use crate::talk::session::Session;

/// The tools of a session, each active or with what removed it.
#[derive(Debug, Clone)]
pub struct SessionScope {
    /// The org.
    pub org: Org,
    /// The session.
    pub session: Session,
    /// The agent whose tools these are.
    pub agent: AgentView,
    /// Its tools.
    pub scope: Arc<ToolScope>,
    budget: TurnBudget,
    trust: Trust,
}

impl SessionScope {
    /// What the gate would say if the agent called a tool now.
    pub fn verdict(&self, tool: &str) -> Verdict {
        decide(
            tool,
            &GateFacts {
                scope: &self.scope,
                errors: &self.session.errors,
                budget: &self.budget,
                trust: self.trust,
                require_approval_for: &self.agent.agent.require_approval_for,
                authority: Authority::Conversation(self.agent.agent.autonomy),
            },
        )
    }
}

/// The scope that the next turn of a session would have, as everything stands
/// now: that of the agent who answers in it, or of another one that is named by
/// its id, slug or subtype. Nothing if there is no such agent.
pub async fn session_scope(
    store: &Store,
    tools: &ToolSet,
    org: OrgId,
    session: SessionId,
    agent: Option<&str>,
) -> Result<Option<SessionScope>, RunError> {
    let stored = store.org(org).session(session).await?;
    let session: Session = read("session", &stored.data)?;
    let view = OrgView::load(store, org).await?;
    let agent = match agent {
        Some(name) => view.find_agent(name),
        None => session.active_agent().and_then(|id| view.agent(id)),
    };
    let Some(agent) = agent.cloned() else { return Ok(None) };
    let scope = step_07_tools::scope(&view, &agent, &session, tools);
    let said = store.org(org).last_messages(session.thread, MESSAGES).await?;
    let trust = trust(&session.channel, &items(&messages(&said)?));
    let budget = budget(store, &view, &agent, &session).await?;
    Ok(Some(SessionScope { org: view.org.clone(), session, agent, scope, budget, trust }))
}

/// What a turn could spend: all that whoever pays has, within the limits of the
/// session and its team.
async fn budget(
    store: &Store,
    view: &OrgView,
    agent: &AgentView,
    session: &Session,
) -> Result<TurnBudget, RunError> {
    let has = store.org(payer(view, agent)).budget(session.budget).await?;
    Ok(TurnBudget {
        reserved: Credits::ZERO,
        top_up: has.org_budget.unwrap_or(PLENTY) + has.parent_budget.unwrap_or(Credits::ZERO),
        session: session.budget.remaining(),
        kept_for_reading: session.budget.kept_for_reading(),
        team: session.team.as_ref().map(|team| team.budget.remaining()),
    })
}
