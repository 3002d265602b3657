//! The tools of an agent in a live session, as its next turn would have them, or in a new one.

use anyhow::bail;
use ostler_api::agent::AgentSummary;
use ostler_api::run::ToolExplanation;
use ostler_world::unknown_name;

use super::ExplainArgs;
use super::report::{Explanation, NamedOrg, ToolReport};
use crate::api_client::{OrgApi, open_orgs};
use crate::commands::session::find::find_session;

pub(super) async fn explain(args: &ExplainArgs, session: &str) -> anyhow::Result<Explanation> {
    let (org, stored) = find_session(&args.installation, session, args.org.as_deref()).await?;
    let mut query = vec![("settings", "true")];
    match &args.agent {
        Some(agent) => {
            check_agent(&org, agent).await?;
            query.push(("agent", agent));
        }
        None if stored.agent.is_none() => {
            bail!("no agent answers in this session; name one with --agent")
        }
        None => {}
    }
    let id = stored.id.to_string();
    let explained = org.query(&["sessions", &id, "tools"], &query).await?;
    let session = format!("{id} ({})", stored.contact_name());
    Ok(explanation(&org, explained, Some(session)))
}

/// Explains the tools of an agent in a new session.
pub(super) async fn explain_fresh(args: &ExplainArgs, agent: &str) -> anyhow::Result<Explanation> {
    let org = find_org_of(args, agent).await?;
    check_agent(&org, agent).await?;
    let explained = org.query(&["agents", agent, "tools"], &[("settings", "true")]).await?;
    Ok(explanation(&org, explained, None))
}

/// Returns the named org, or the only one that has an agent with this slug.
async fn find_org_of(args: &ExplainArgs, agent: &str) -> anyhow::Result<OrgApi> {
    let mut orgs = open_orgs(&args.installation, args.org.as_deref().unwrap_or_default()).await?;
    if args.org.is_some() && orgs.len() == 1 {
        return Ok(orgs.remove(0));
    }
    let mut found = Vec::new();
    for org in orgs {
        if agents(&org).await?.iter().any(|one| one.slug == agent) {
            found.push(org);
        }
    }
    match found.as_slice() {
        [_] => Ok(found.remove(0)),
        [] => bail!("no organization has an agent `{agent}`; `ostler agent ls` lists them"),
        several => {
            let slugs: Vec<&str> = several.iter().map(|org| org.org.slug.as_str()).collect();
            bail!("several organizations have an agent `{agent}`; add --org: {}", slugs.join(", "))
        }
    }
}

/// Fails if an org has no agent with this slug, id or subtype.
async fn check_agent(org: &OrgApi, name: &str) -> anyhow::Result<()> {
    let known = agents(org).await?;
    let is_named =
        |one: &AgentSummary| one.slug == name || one.subtype == name || one.id.to_string() == name;
    if known.iter().any(is_named) {
        return Ok(());
    }
    let slugs = known.iter().map(|agent| agent.slug.as_str());
    bail!(unknown_name(&format!("{} agent", org.org.name), name, slugs))
}

async fn agents(org: &OrgApi) -> anyhow::Result<Vec<AgentSummary>> {
    org.list(&["agent-summaries"], &[], usize::MAX).await
}

fn explanation(org: &OrgApi, found: ToolExplanation, session: Option<String>) -> Explanation {
    let named = NamedOrg { name: &org.org.name, slug: &org.org.slug };
    let tools = found.tools.into_iter().map(|tool| ToolReport::of_explained(tool, named));
    Explanation {
        agent: found.agent_name,
        org: org.org.name.clone(),
        session,
        business_layer: found.business_layer,
        guarded_as_business_layer: found.guarded_as_business_layer,
        tools: tools.collect(),
        unavailable: found.unavailable,
    }
}
