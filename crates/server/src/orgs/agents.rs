//! Routes for agents at a glance. Their fields are changed as resources.

use axum::Json;
use ostler_api::agent::{AgentChannel, AgentDetail, AgentSummary, DailyLimits};
use ostler_api::page::Page;
use ostler_domain::agent::{Agent, Protection};
use ostler_domain::org::Org;
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::org::permission::OrgPermission::View;
use ostler_runtime::operations;
use ostler_store::OrgBinding;

use super::{OrgRequest, PathId};
use crate::error::Result;
use crate::route::{Route, get};

/// Costs are stored in millionths of a dollar.
const MICROS_PER_CENT: u64 = 10_000;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/agent-summaries",
            "listAgentSummaries",
            "List agents at a glance, also archived ones, with their ids and business layers",
            list,
        ),
        get(
            View,
            "/agents/{agent}/summary",
            "getAgentSummary",
            "Show an agent at a glance, with the version of its soul and its channels",
            show,
        ),
    ]
}

async fn list(request: OrgRequest) -> Result<Json<Page<AgentSummary>>> {
    let found = request.operations().configured_agents().await;
    let (org, agents) = request.hide_foreign_org(found)?;
    let items = agents.into_iter().map(|agent| summary(&org, agent));
    Ok(Json(Page { items: items.collect(), next: None }))
}

async fn show(request: OrgRequest, PathId(agent): PathId) -> Result<Json<AgentDetail>> {
    let found = request.of_named_agent(request.operations().configured_agent(&agent).await)?;
    let operations::AgentDetail { org, agent, soul_version, bindings } = found;
    let channels = bindings.into_iter().map(channel).collect();
    Ok(Json(AgentDetail { agent: summary(&org, agent), soul_version, channels }))
}

fn channel(OrgBinding { binding, .. }: OrgBinding) -> AgentChannel {
    AgentChannel {
        binding: binding.id,
        channel: binding.channel,
        enabled: binding.enabled,
        priority: binding.priority,
    }
}

fn summary(org: &Org, agent: Agent) -> AgentSummary {
    let position = BusinessPosition::of(org, &agent.subtype);
    AgentSummary {
        id: agent.id,
        slug: agent.slug,
        name: agent.display_name,
        subtype: agent.subtype.name().to_owned(),
        business_layer: position.business_layer.number(),
        guardrail_layer: position.guardrail_layer.number(),
        status: agent.status,
        kind: agent.kind,
        protected: agent.protection == Protection::Protected,
        autonomy: agent.autonomy,
        models: agent.models,
        profile: agent.tools.profile.name().to_owned(),
        tools: agent.tools.policy,
        require_approval_for: agent.require_approval_for,
        blocked_topics: agent.blocked_topics,
        limits: DailyLimits {
            max_messages_per_day: agent.limits.max_messages_per_day,
            max_cents_per_day: agent.limits.max_cost_per_day.as_micros() / MICROS_PER_CENT,
        },
        brand: agent.brand,
        knowledge_tags: agent.knowledge_tags,
        created_at: agent.created_at,
    }
}
