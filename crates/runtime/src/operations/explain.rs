//! Explains why an agent has or lacks a tool in a session.

use std::sync::Arc;

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::gate::{GateDecision, GateFacts, GateRules, decide};
use ostler_domain::id::{BindingId, ConversationId, OrgId, SessionId, ThreadId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::org::Org;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Trust;
use ostler_engine::tool::UnavailableTool;
use ostler_store::Store;

use crate::assembly::credits::{UNLIMITED, payer};
use crate::assembly::history::{HISTORY_MESSAGES, decode_messages, history_items, history_trust};
use crate::assembly::{SessionFacts, resolve_scope};
use crate::org_view::{AgentView, OrgView};
use crate::records::decode;
use crate::records::session::{NewSession, Session};
use crate::run_error::RunError;
use crate::toolbox::Toolbox;

/// The tool scope of an agent in a session, with the reason for each tool it lacks.
#[derive(Debug, Clone)]
pub struct SessionScope {
    pub org: Org,
    pub session: Session,
    pub agent: AgentView,
    pub scope: Arc<ToolScope>,
    /// The org's own tools that cannot be used at the moment.
    pub unavailable: Vec<UnavailableTool>,
    budget: TurnBudget,
    trust: Trust,
}

impl SessionScope {
    /// Returns what the gate would decide if the agent called a tool now.
    pub fn verdict(&self, tool: &str) -> GateDecision {
        decide(
            tool,
            &GateFacts {
                scope: &self.scope,
                errors: &self.session.errors,
                budget: &self.budget,
                trust: self.trust,
                require_approval_for: &self.agent.agent.require_approval_for,
                rules: GateRules::Conversation(self.agent.agent.autonomy),
                arguments: &serde_json::Value::Null,
            },
        )
    }
}

/// Returns the scope that the next turn of a session would have: for the active agent, or
/// for the one named by id, slug or subtype. Returns `None` if there is no such agent.
pub async fn session_scope(
    store: &Store,
    toolbox: &Toolbox,
    org: OrgId,
    session: SessionId,
    agent: Option<&str>,
) -> Result<Option<SessionScope>, RunError> {
    let stored = store.org(org).session(session).await?;
    let session: Session = decode("session", &stored.data)?;
    let view = OrgView::load(store, toolbox, org).await?;
    let agent = match agent {
        Some(name) => view.find_agent(name),
        None => session.active_agent().and_then(|id| view.agent(id)),
    };
    let Some(agent) = agent.cloned() else { return Ok(None) };
    let scope = resolve_scope(&view, &agent, &SessionFacts::from(&session), &view.tools);
    let stored = store.org(org).last_messages(session.thread, HISTORY_MESSAGES).await?;
    let trust = history_trust(&session.channel, &history_items(&decode_messages(&stored)?));
    let budget = budget(store, &view, &agent, &session).await?;
    let unavailable = view.unavailable_tools.clone();
    let org = view.org.clone();
    Ok(Some(SessionScope { org, session, agent, scope, unavailable, budget, trust }))
}

/// Returns the scope that an agent, named by id, slug or subtype, would have in a new web
/// chat: of its owner for a project manager or the platform's agent, and of a customer for all
/// others. Returns `None` if there is no such agent.
pub async fn fresh_scope(
    store: &Store,
    toolbox: &Toolbox,
    org: OrgId,
    agent: &str,
) -> Result<Option<SessionScope>, RunError> {
    let view = OrgView::load(store, toolbox, org).await?;
    let Some(agent) = view.find_agent(agent).cloned() else { return Ok(None) };
    let key = ConversationKey {
        org,
        binding: BindingId::from_u128(0),
        peer: Peer::Person(String::new()),
        entry: match agent.agent.subtype {
            Subtype::Pm | Subtype::System => ConversationEntry::Owner,
            _ => ConversationEntry::Customer,
        },
    };
    let session = Session::open(NewSession {
        id: SessionId::from_u128(0),
        thread: ThreadId::from_u128(0),
        conversation: ConversationId::from_u128(0),
        key: &key,
        channel: Channel::Webchat,
        agent: Some(agent.agent.id),
        budget: view.settings.session_budget,
        now: Timestamp::from_millis(0),
    });
    let scope = resolve_scope(&view, &agent, &SessionFacts::from(&session), &view.tools);
    let budget = budget(store, &view, &agent, &session).await?;
    let (unavailable, org) = (view.unavailable_tools.clone(), view.org.clone());
    let trust = history_trust(&session.channel, &[]);
    Ok(Some(SessionScope { org, session, agent, scope, unavailable, budget, trust }))
}

/// Returns what a turn could spend: all the credits of its payer, within the budgets of the
/// session and its team.
async fn budget(
    store: &Store,
    view: &OrgView,
    agent: &AgentView,
    session: &Session,
) -> Result<TurnBudget, RunError> {
    let remaining = store.org(payer(view, agent)).budget(session.budget).await?;
    Ok(TurnBudget {
        reserved: Credits::ZERO,
        top_up: remaining.org_budget.unwrap_or(UNLIMITED)
            + remaining.parent_budget.unwrap_or(Credits::ZERO),
        session: session.budget.remaining(),
        subagent: None,
        read_reserve: session.budget.read_reserve(),
        team: session.team.as_ref().map(|team| team.budget.remaining()),
    })
}
