//! The tools of an agent in a world file.

use anyhow::anyhow;
use ostler_domain::channel::Channel;
use ostler_domain::gate::{GateFacts, GateRules, decide};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{SessionBudget, TurnBudget};
use ostler_domain::org::Org;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_domain::session::errors::ErrorState;
use ostler_domain::tool::{Trust, catalogue};

use super::report::{Explanation, ToolReport};
use ostler_world::unknown_name;

use crate::world::{World, WorldAgent, WorldSession};

/// Resolves the scope of an agent and asks the gate about each active tool.
pub(super) fn explain(
    world: &World,
    agent: &str,
    session: Option<&str>,
) -> anyhow::Result<Explanation> {
    let agent = find_agent(world, agent)?;
    let org = world
        .orgs
        .get(agent.agent.org)
        .ok_or_else(|| anyhow!("the org of `{}` is missing", agent.agent.slug))?;
    let session = session.map(|name| find_session(world, org, name)).transpose()?;
    let scope = scope(world, agent, org, session)?;
    let budget = turn_budget(session);
    let no_errors = ErrorState::default();
    let facts = GateFacts {
        scope: &scope,
        errors: session.map_or(&no_errors, |session| &session.errors),
        budget: &budget,
        trust: session.map_or(Trust::Trusted, |session| session.trust),
        require_approval_for: &agent.agent.require_approval_for,
        rules: GateRules::Conversation(agent.agent.autonomy),
        arguments: &serde_json::Value::Null,
    };
    let tools = scope.tools().iter();
    Ok(Explanation {
        agent: agent.agent.display_name.clone(),
        org: org.name.clone(),
        session: session.map(|session| session.name.clone()),
        business_layer: agent.position.business_layer,
        guarded_as_business_layer: agent.position.guardrail_layer,
        tools: tools.map(|tool| ToolReport::new(tool, org, |name| decide(name, &facts))).collect(),
        unavailable: Vec::new(),
    })
}

fn find_agent<'a>(world: &'a World, slug: &str) -> anyhow::Result<&'a WorldAgent> {
    let known = world.agents.iter().map(|agent| agent.agent.slug.as_str());
    let found = world.agents.iter().find(|agent| agent.agent.slug == slug);
    found.ok_or_else(|| anyhow!(unknown_name("agent", slug, known)))
}

fn find_session<'a>(world: &'a World, org: &Org, name: &str) -> anyhow::Result<&'a WorldSession> {
    let of_org = || world.sessions.iter().filter(|session| session.org == org.id);
    let known: Vec<&str> = of_org().map(|session| session.name.as_str()).collect();
    let found = of_org().find(|session| session.name == name);
    found.ok_or_else(|| anyhow!(unknown_name(&format!("{} session", org.name), name, known)))
}

fn scope(
    world: &World,
    agent: &WorldAgent,
    org: &Org,
    session: Option<&WorldSession>,
) -> anyhow::Result<ToolScope> {
    let settings = world
        .org_tools
        .get(&org.id)
        .ok_or_else(|| anyhow!("the settings of `{}` are missing", org.slug))?;
    let fresh = SessionTools::new(Channel::Webchat);
    let facts = ScopeFacts {
        platform: &world.platform,
        org: OrgTools {
            policy: &settings.policy,
            integrations: &settings.integrations,
            sub_orgs_enabled: org.sub_orgs_enabled,
            team_coordination: settings.team_coordination,
        },
        agent: AgentTools::of(&agent.agent, &agent.position),
        session: session.map_or(&fresh, |session| &session.tools),
    };
    Ok(resolve(catalogue::built_in(), &facts))
}

/// Returns the budget of a turn. A world has no ledger, so only the session's cap limits it.
fn turn_budget(session: Option<&WorldSession>) -> TurnBudget {
    let budget = session.map_or_else(SessionBudget::default, |session| session.budget);
    TurnBudget {
        reserved: Credits::new(u64::MAX),
        top_up: Credits::ZERO,
        session: budget.remaining(),
        read_reserve: budget.read_reserve(),
        team: None,
    }
}
