//! The tools of an agent in a world file.

use anyhow::anyhow;
use ostler_api::run::MissingTool;
use ostler_domain::agent::Agent;
use ostler_domain::channel::Channel;
use ostler_domain::gate::setting::{DecidingSetting, SettingHolder};
use ostler_domain::gate::{GateDecision, GateFacts, GateRules, decide};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{SessionBudget, TurnBudget};
use ostler_domain::org::Org;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_domain::session::errors::ErrorState;
use ostler_domain::tool::{Trust, catalogue};

use super::report::{Explanation, NamedOrg, RuleReport, ToolReport};
use ostler_world::{Address, Kind, unknown_name};

use crate::world::{OrgToolSettings, World, WorldAgent, WorldSession};

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
    let audience = session.map_or(agent.usual_audience(), |session| session.tools.audience);
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
    let settings = tool_settings(world, org)?;
    let unavailable = settings.mcp_servers.iter().map(|server| MissingTool {
        name: format!("mcp__{server}__…"),
        reason: "the tools of an MCP server are known when it runs".to_owned(),
    });
    let tools = scope.tools().iter();
    Ok(Explanation {
        agent: agent.agent.display_name.clone(),
        org: org.name.clone(),
        session: session.map(|session| session.name.clone()),
        business_layer: agent.position.business_layer,
        guarded_as_business_layer: agent.position.guardrail_layer_for(audience),
        tools: tools
            .map(|tool| {
                let named = NamedOrg { name: &org.name, slug: &org.slug };
                let mut report = ToolReport::new(tool, named, |name| decide(name, &facts));
                report.set_rule(rule(world, org, &agent.agent, &report.decision()));
                report
            })
            .collect(),
        unavailable: unavailable.collect(),
    })
}

/// Returns the setting behind a decision, with its place in the file.
fn rule(world: &World, org: &Org, agent: &Agent, decision: &GateDecision) -> Option<RuleReport> {
    let setting = DecidingSetting::of(decision)?;
    let address = match setting.holder {
        SettingHolder::Platform => Address::of_platform(),
        SettingHolder::Org => Address::of_org(&org.slug),
        SettingHolder::Agent => {
            Address { org: org.slug.clone(), kind: Kind::Agent, name: agent.slug.clone() }
        }
    };
    let field = setting.field.path();
    let place = world.files.place_of(&address, field);
    Some(RuleReport::File { resource: address.to_string(), field, place })
}

fn tool_settings<'w>(world: &'w World, org: &Org) -> anyhow::Result<&'w OrgToolSettings> {
    let settings = world.org_tools.get(&org.id);
    settings.ok_or_else(|| anyhow!("the settings of `{}` are missing", org.slug))
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
    let settings = tool_settings(world, org)?;
    let fresh = SessionTools::new(Channel::Webchat, agent.usual_audience());
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
    let tools = catalogue::built_in().into_iter().chain(settings.http_tools.iter().cloned());
    Ok(resolve(tools, &facts))
}

/// Returns the budget of a turn. A world has no ledger, so only the session's cap limits it.
fn turn_budget(session: Option<&WorldSession>) -> TurnBudget {
    let budget = session.map_or_else(SessionBudget::default, |session| session.budget);
    TurnBudget {
        reserved: Credits::new(u64::MAX),
        top_up: Credits::ZERO,
        session: budget.remaining(),
        subagent: None,
        read_reserve: budget.read_reserve(),
        team: None,
    }
}
