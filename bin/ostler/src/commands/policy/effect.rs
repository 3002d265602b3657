//! What a change of a policy means: which agents gain or lose which tools.

use std::collections::BTreeSet;

use ostler_api::page::Page;
use ostler_api::resource::{ResourceAction, ResourcePlan};
use ostler_api::tool::CatalogueTool;
use ostler_domain::channel::Channel;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, resolve};
use ostler_domain::tool::ToolSpec;
use ostler_world::{Address, Resources};

use crate::api_client::ApiClient;
use crate::screen::{BAD, GOOD};
use crate::world::{World, WorldAgent};

/// Returns the resources after a plan for which `wanted` was asked.
pub(super) fn after(
    before: &Resources,
    wanted: &Resources,
    plan: &ResourcePlan,
) -> anyhow::Result<Resources> {
    let mut after = before.clone();
    for change in &plan.changes {
        let address: Address = change.resource.parse()?;
        match (change.action, wanted.get(&address)) {
            (ResourceAction::Remove, _) => drop(after.remove(&address)),
            (_, Some(resource)) => drop(after.insert(address, resource.clone())),
            (_, None) => {}
        }
    }
    Ok(after)
}

/// Prints which agents gain or lose which tools.
pub(super) async fn print(
    api: &ApiClient,
    before: &Resources,
    after: &Resources,
) -> anyhow::Result<()> {
    let tools: Page<CatalogueTool> = api.get(&["tools"], &[]).await?;
    let tools: Vec<ToolSpec> = tools.items.into_iter().map(|tool| tool.spec).collect();
    let (before, after) = (World::of_resources(before)?, World::of_resources(after)?);
    let mut changed = false;
    for agent in &after.agents {
        let now = active(&after, agent, &tools);
        let old = before.agents.iter().find(|old| same(old, agent, &before, &after));
        let then = old.map(|old| active(&before, old, &tools)).unwrap_or_default();
        let slug = &agent.agent.slug;
        let gained: Vec<&String> = now.difference(&then).collect();
        let lost: Vec<&String> = then.difference(&now).collect();
        for (word, style, tools) in [("gains", GOOD, gained), ("loses", BAD, lost)] {
            if !tools.is_empty() {
                changed = true;
                let tools = tools.iter().map(|tool| tool.as_str()).collect::<Vec<_>>().join(", ");
                anstream::println!("{slug} {style}{word}{style:#} {tools}");
            }
        }
    }
    if !changed {
        anstream::println!("no agent gains or loses a tool");
    }
    anstream::println!();
    Ok(())
}

/// Returns whether two agents are the same one. Ids of a world hold for that world only.
fn same(old: &WorldAgent, new: &WorldAgent, before: &World, after: &World) -> bool {
    let org = |world: &World, agent: &WorldAgent| {
        world.orgs.get(agent.agent.org).map(|org| org.slug.clone())
    };
    old.agent.slug == new.agent.slug && org(before, old) == org(after, new)
}

/// Returns the tools of an agent in a new session.
fn active(world: &World, agent: &WorldAgent, tools: &[ToolSpec]) -> BTreeSet<String> {
    let (Some(org), Some(settings)) =
        (world.orgs.get(agent.agent.org), world.org_tools.get(&agent.agent.org))
    else {
        return BTreeSet::new();
    };
    let session = SessionTools::new(Channel::Webchat, agent.usual_audience());
    let facts = ScopeFacts {
        platform: &world.platform,
        org: OrgTools {
            policy: &settings.policy,
            integrations: &settings.integrations,
            sub_orgs_enabled: org.sub_orgs_enabled,
            team_coordination: settings.team_coordination,
        },
        agent: AgentTools::of(&agent.agent, &agent.position),
        session: &session,
    };
    let scope = resolve(tools.to_vec(), &facts);
    let active = scope.tools().iter().filter(|tool| tool.removed.is_none());
    active.map(|tool| tool.spec.name.to_string()).collect()
}
