//! The seven stages, one function each, in order.

use super::ScopeFacts;
use super::layer_rules;
use super::removal::{PolicyLayer, Removal};
use crate::agent::autonomy::AutonomyLevel;
use crate::org::layer::BusinessLayer;
use crate::tool::catalogue::{ESCALATE_TO_HUMAN, TAG_IN_AGENT};
use crate::tool::{Risk, ToolGroup, ToolRole, ToolSpec};

/// A stage: returns why it removes a tool, or `None`. It cannot add one.
pub(super) type StageFilter = fn(&ToolSpec, &ScopeFacts<'_>) -> Option<Removal>;

/// The stages in order.
pub(super) const ALL: [StageFilter; 7] =
    [platform, org, integrations, agent, autonomy, business_layer, session];

fn platform(tool: &ToolSpec, facts: &ScopeFacts<'_>) -> Option<Removal> {
    facts.platform.removal(tool, PolicyLayer::Platform)
}

/// Checks the org's policy, its licence, and whether its agents work as a team.
fn org(tool: &ToolSpec, facts: &ScopeFacts<'_>) -> Option<Removal> {
    let layer = facts.agent.position.guardrail_layer_for(facts.session.audience);
    let by_policy = facts.org.policy.removal(tool, PolicyLayer::Org);
    by_policy
        .or_else(|| {
            let licensed = facts.org.sub_orgs_enabled || layer == BusinessLayer::Platform;
            (tool.group == ToolGroup::Agency && !licensed).then_some(Removal::Unlicensed)
        })
        .or_else(|| {
            // An agent that talks to end customers can always reach a human.
            let needs_team = tool.name == TAG_IN_AGENT
                || (tool.name == ESCALATE_TO_HUMAN && layer != BusinessLayer::EndCustomer);
            (needs_team && !facts.org.team_coordination).then_some(Removal::NoTeamCoordination)
        })
}

fn integrations(tool: &ToolSpec, facts: &ScopeFacts<'_>) -> Option<Removal> {
    let missing: Vec<_> = tool.integrations.difference(facts.org.integrations).cloned().collect();
    (!missing.is_empty()).then_some(Removal::NotConnected { integrations: missing })
}

fn agent(tool: &ToolSpec, facts: &ScopeFacts<'_>) -> Option<Removal> {
    let profile = facts.agent.profile;
    facts
        .agent
        .policy
        .removal(tool, PolicyLayer::Agent)
        .or_else(|| (!profile.includes(tool)).then_some(Removal::OutsideProfile { profile }))
}

fn autonomy(tool: &ToolSpec, facts: &ScopeFacts<'_>) -> Option<Removal> {
    let drafts = facts.agent.autonomy == AutonomyLevel::DraftOnly;
    (drafts && !reads_or_controls(tool)).then_some(Removal::DraftOnly)
}

fn business_layer(tool: &ToolSpec, facts: &ScopeFacts<'_>) -> Option<Removal> {
    layer_rules::removal(tool, facts.agent.position, facts.session.audience)
}

fn session(tool: &ToolSpec, facts: &ScopeFacts<'_>) -> Option<Removal> {
    let session = facts.session;
    // Control tools, such as an escalation, stay available after failures.
    if tool.role != ToolRole::Control
        && let Some(disabled) = session.disabled.get(&tool.name)
    {
        let (failures, since) = (disabled.failures, disabled.since);
        return Some(Removal::FailedTooOften { failures, since });
    }
    if session.read_only && !reads_or_controls(tool) {
        return Some(Removal::SessionReadOnly);
    }
    if !session.audience.may_use(tool.audience) {
        return Some(Removal::StaffOnly);
    }
    let off_here = session.channel_restrictions.contains(&tool.name);
    off_here.then(|| Removal::NotOnChannel { channel: session.channel.clone() })
}

fn reads_or_controls(tool: &ToolSpec) -> bool {
    tool.risk == Risk::Read || tool.role == ToolRole::Control
}
