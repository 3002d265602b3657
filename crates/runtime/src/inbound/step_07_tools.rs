//! Step 7: which tools the agent has in this session.

use std::sync::{Arc, PoisonError};

use ostler_domain::money::caps::SessionSpending;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_engine::tool::ToolSet;

use crate::org_view::{AgentView, OrgView};
use crate::talk::session::Session;

/// The tools of an agent in a session. Where nothing has gone wrong in the
/// session they are the same as in the last one, and are not worked out anew.
pub(crate) fn scope(
    view: &OrgView,
    agent: &AgentView,
    session: &Session,
    tools: &ToolSet,
) -> Arc<ToolScope> {
    let spending = session.budget.spending();
    let usual = session.errors.disabled().is_empty() && spending == SessionSpending::Open;
    let key = (agent.agent.id, session.channel.name().to_owned());
    if usual {
        let known = view.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scope) = known.get(&key) {
            return scope.clone();
        }
    }
    let layer = SessionTools::of(session.channel.clone(), &session.errors, spending);
    let facts = ScopeFacts {
        platform: &view.platform_policy.policy,
        org: OrgTools {
            policy: &view.policy.policy,
            integrations: &view.integrations,
            sub_orgs_enabled: view.org.sub_orgs_enabled,
            team_coordination: view.settings.team.is_some(),
        },
        agent: AgentTools::of(&agent.agent, &agent.standing),
        session: &layer,
    };
    let scope = Arc::new(resolve(tools.specs().cloned(), &facts));
    if usual {
        let mut known = view.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, scope.clone());
    }
    scope
}
