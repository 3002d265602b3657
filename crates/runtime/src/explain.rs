//! Why an agent has a tool in a session, or has it not.

use std::sync::Arc;

use ostler_domain::id::{OrgId, SessionId};
use ostler_domain::scope::ToolScope;
use ostler_engine::tool::ToolSet;
use ostler_store::Store;

use crate::inbound::RunError;
use crate::inbound::step_07_tools;
use crate::org_view::{AgentView, OrgView};
use crate::talk::read;
use crate::talk::session::Session;

/// The tools of a session, each active or with what removed it.
#[derive(Debug, Clone)]
pub struct SessionScope {
    /// The session.
    pub session: Session,
    /// The agent that answers in it.
    pub agent: AgentView,
    /// Its tools.
    pub scope: Arc<ToolScope>,
}

/// The scope that the next turn of a session would have, as everything stands
/// now. Nothing if nobody answers in it.
pub async fn session_scope(
    store: &Store,
    tools: &ToolSet,
    org: OrgId,
    session: SessionId,
) -> Result<Option<SessionScope>, RunError> {
    let stored = store.org(org).session(session).await?;
    let session: Session = read("session", &stored.data)?;
    let view = OrgView::load(store, org).await?;
    let agent = session.active_agent().and_then(|id| view.agent(id)).cloned();
    Ok(agent.map(|agent| {
        let scope = step_07_tools::scope(&view, &agent, &session, tools);
        SessionScope { session, agent, scope }
    }))
}
