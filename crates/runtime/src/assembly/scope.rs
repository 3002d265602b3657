//! Resolves the tool scope of an agent.

use std::sync::{Arc, PoisonError};

use ostler_domain::money::caps::SpendingMode;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_engine::tool::ToolSet;

use super::SessionFacts;
use crate::org_view::{AgentView, OrgView};

/// Resolves the tool scope of an agent in a session. The scope is cached with the
/// org view as long as no tool is disabled and the budget is open.
pub(crate) fn resolve_scope(
    view: &OrgView,
    agent: &AgentView,
    session: &SessionFacts<'_>,
    tools: &ToolSet,
) -> Arc<ToolScope> {
    let spending = session.budget.spending_mode();
    let usual = session.errors.disabled().is_empty() && spending == SpendingMode::Open;
    let key = (agent.agent.id, session.channel.name().to_owned(), session.audience);
    if usual {
        let known = view.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scope) = known.get(&key) {
            return scope.clone();
        }
    }
    let (channel, audience) = (session.channel.clone(), session.audience);
    let layer = SessionTools::of(channel, audience, session.errors, spending);
    let facts = ScopeFacts {
        platform: &view.platform_policy.policy,
        org: OrgTools {
            policy: &view.policy.policy,
            integrations: &view.integrations,
            sub_orgs_enabled: view.org.sub_orgs_enabled,
            team_coordination: view.settings.team.is_some(),
        },
        agent: AgentTools::of(&agent.agent, &agent.position),
        session: &layer,
    };
    let scope = resolve(tools.specs().cloned(), &facts);
    let scope = Arc::new(scope.with_hosts(&view.settings.web_hosts));
    if usual {
        let mut known = view.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, scope.clone());
    }
    scope
}
