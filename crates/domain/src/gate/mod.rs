//! The gate: decides whether a tool call runs, is refused or needs approval.
//!
//! A pure function of its facts. It checks in a fixed order, fails closed, and
//! gives a reason for every decision, also when it allows a call.
//!
//! - What autonomy or permissions refuse is never asked about, also if untrusted
//!   content or an approval list would ask: reading hostile content must not turn a
//!   forbidden tool into one that a person may approve.
//! - Control tools (ask, plan, hand over, escalate) need only the scope: neither
//!   failures nor an empty budget take the way to a person away.
//! - After content from outside was read, a person decides on calls that cannot be undone, and
//!   in a conversation also on calls that act outside of it: in another system, or on agents,
//!   settings and organizations. Who wrote that content must not act through the agent.
//! - A refusal has a text for the model without figures and rules, since an agent
//!   may repeat to a customer what it reads.

pub mod approval;
pub mod blast_radius;
pub mod permission;
pub mod replay;
pub mod setting;

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::autonomy::AutonomyLevel;
use crate::money::caps::{BudgetExceeded, TurnBudget};
use crate::scope::ToolScope;
use crate::scope::removal::Removal;
use crate::session::errors::ErrorState;
use crate::tool::{Risk, ToolName, ToolRole, ToolSpec, Trust};
use permission::{PermissionPolicy, PermissionQuery, PermissionSource, Permissions};

/// The rules that apply after the scope and the budget.
#[derive(Debug, Clone, Copy)]
pub enum GateRules<'a> {
    /// A customer's conversation: the agent's autonomy level.
    Conversation(AutonomyLevel),
    /// A call that the author of a workflow has written, by an agent with this autonomy level.
    WorkflowCall(AutonomyLevel),
    /// An interactive harness: the user's permissions.
    Interactive(&'a dyn Permissions),
    /// Both; the stricter decision counts.
    Both(AutonomyLevel, &'a dyn Permissions),
}

/// The input of a decision.
#[derive(Debug, Clone, Copy)]
pub struct GateFacts<'a> {
    /// The resolved scope, as it was offered to the model.
    pub scope: &'a ToolScope,
    /// The session's current failures. A tool that reaches its limit during a turn is
    /// disabled at once.
    pub errors: &'a ErrorState,
    /// What the turn can still spend.
    pub budget: &'a TurnBudget,
    /// Whether the turn has read content from outside.
    pub trust: Trust,
    /// Tools that need approval at every level.
    pub require_approval_for: &'a BTreeSet<ToolName>,
    pub rules: GateRules<'a>,
    /// The arguments of the call.
    pub arguments: &'a Value,
}

/// The decision on one tool call, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", content = "reason", rename_all = "snake_case")]
pub enum GateDecision {
    Allow(AllowReason),
    /// The call needs approval by a person.
    Ask(AskReason),
    /// The call is refused, and the model is told why.
    Deny(DenyReason),
}

/// The reason why a call runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowReason {
    /// It is a control tool.
    ControlTool,
    /// A person decides on what the call proposes.
    Proposal,
    /// The agent's autonomy level allows this risk.
    Autonomy {
        level: AutonomyLevel,
        risk: Risk,
    },
    /// The user's permissions allow it.
    Permission(PermissionSource),
    Approved,
}

/// The reason why a call needs approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskReason {
    /// The turn has read content from outside, and the call cannot be undone or acts outside
    /// of the conversation.
    Untrusted,
    /// The turn has read private or outside content, and the tool calls a host that is not on
    /// the org's list.
    UnlistedHost,
    ApprovalList,
    /// The agent's autonomy level does not allow this risk.
    Autonomy {
        level: AutonomyLevel,
        risk: Risk,
    },
    /// The user's permissions require a question.
    Permission(PermissionSource),
}

/// The reason why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DenyReason {
    /// There is no such tool.
    UnknownTool,
    /// The tool was removed from the scope.
    OutOfScope(Removal),
    /// The tool failed too often in this session.
    Disabled {
        failures: u32,
    },
    OverBudget(BudgetExceeded),
    /// The session is near its cap, so only tools that read may run.
    SessionReadOnly,
    /// The agent may only read and draft.
    DraftOnly,
    /// The user's permissions forbid it.
    Permission(PermissionSource),
}

/// Decides on a call of the tool with this name.
pub fn decide(tool: &str, facts: &GateFacts<'_>) -> GateDecision {
    let spec = match check_hard_limits(tool, facts) {
        Ok(spec) => spec,
        Err(reason) => return GateDecision::Deny(reason),
    };
    if spec.role == ToolRole::Control {
        GateDecision::Allow(AllowReason::ControlTool)
    } else {
        let decision = decide_by_rules(spec, facts);
        // A call that would be refused anyway never asks for approval.
        if matches!(decision, GateDecision::Deny(_)) {
            decision
        } else if facts.trust == Trust::Untrusted && is_guarded(spec, facts.rules) {
            GateDecision::Ask(AskReason::Untrusted)
        } else if calls_unlisted_host(spec, facts) {
            GateDecision::Ask(AskReason::UnlistedHost)
        } else if facts.require_approval_for.contains(&spec.name) {
            GateDecision::Ask(AskReason::ApprovalList)
        } else {
            decision
        }
    }
}

/// Returns whether a call needs a person once content from outside was read. Users of an
/// interactive harness and authors of workflows have said themselves which calls run, as far
/// as these can be undone.
const fn is_guarded(spec: &ToolSpec, rules: GateRules<'_>) -> bool {
    let proposal = matches!(spec.role, ToolRole::Proposal);
    match (spec.risk, rules) {
        (Risk::Destructive, _) => true,
        (Risk::Read, _) | (_, GateRules::Interactive(_) | GateRules::WorkflowCall(_)) => false,
        (Risk::Write, GateRules::Conversation(_) | GateRules::Both(..)) => {
            !proposal && spec.acts_outside()
        }
    }
}

/// Returns whether a call could carry what the turn has read to a host that the org does not
/// list.
fn calls_unlisted_host(spec: &ToolSpec, facts: &GateFacts<'_>) -> bool {
    let Some(argument) = &spec.url_argument else { return false };
    let url = facts.arguments.get(argument).and_then(Value::as_str).unwrap_or_default();
    facts.trust >= Trust::Private && !facts.scope.allows_host_of(url)
}

/// Decides on a call that a person has approved. The current rules can still refuse
/// it, but it does not ask again.
pub fn decide_approved(tool: &str, facts: &GateFacts<'_>) -> GateDecision {
    let spec = match check_hard_limits(tool, facts) {
        Ok(spec) => spec,
        Err(reason) => return GateDecision::Deny(reason),
    };
    match decide_by_rules(spec, facts) {
        refusal @ GateDecision::Deny(_) if spec.role != ToolRole::Control => refusal,
        _ => GateDecision::Allow(AllowReason::Approved),
    }
}

/// Checks scope, session failures and budget, which no approval overrides.
fn check_hard_limits<'a>(tool: &str, facts: &GateFacts<'a>) -> Result<&'a ToolSpec, DenyReason> {
    let scoped = facts.scope.find(tool).ok_or(DenyReason::UnknownTool)?;
    match &scoped.removed {
        Some(Removal::FailedTooOften { failures, .. }) => {
            return Err(DenyReason::Disabled { failures: *failures });
        }
        Some(removal) => return Err(DenyReason::OutOfScope(removal.clone())),
        None => {}
    }
    if scoped.spec.role == ToolRole::Control {
        return Ok(&scoped.spec);
    }
    if let Some(disabled) = facts.errors.disabled().get(&scoped.spec.name) {
        return Err(DenyReason::Disabled { failures: disabled.failures });
    }
    let price = scoped.spec.price_of(facts.arguments);
    facts.budget.check(price).map_err(DenyReason::OverBudget)?;
    if scoped.spec.risk != Risk::Read && facts.budget.is_read_only() {
        return Err(DenyReason::SessionReadOnly);
    }
    Ok(&scoped.spec)
}

fn decide_by_rules(spec: &ToolSpec, facts: &GateFacts<'_>) -> GateDecision {
    let query =
        PermissionQuery { tool: &spec.name, category: spec.category, arguments: facts.arguments };
    match facts.rules {
        GateRules::Conversation(level) | GateRules::WorkflowCall(level) => {
            decide_by_autonomy(level, spec)
        }
        GateRules::Interactive(permissions) => decide_by_permission(query, permissions),
        GateRules::Both(level, permissions) => {
            stricter(decide_by_autonomy(level, spec), decide_by_permission(query, permissions))
        }
    }
}

const fn decide_by_autonomy(level: AutonomyLevel, spec: &ToolSpec) -> GateDecision {
    let risk = spec.risk;
    match (level, risk) {
        _ if matches!(spec.role, ToolRole::Proposal) => GateDecision::Allow(AllowReason::Proposal),
        (AutonomyLevel::Autonomous, _)
        | (AutonomyLevel::SemiAutonomous | AutonomyLevel::DraftOnly, Risk::Read) => {
            GateDecision::Allow(AllowReason::Autonomy { level, risk })
        }
        (AutonomyLevel::Supervised | AutonomyLevel::SemiAutonomous, _) => {
            GateDecision::Ask(AskReason::Autonomy { level, risk })
        }
        (AutonomyLevel::DraftOnly, _) => GateDecision::Deny(DenyReason::DraftOnly),
    }
}

fn decide_by_permission(query: PermissionQuery<'_>, permissions: &dyn Permissions) -> GateDecision {
    let (policy, source) = permissions.resolve(query);
    match policy {
        PermissionPolicy::Allow => GateDecision::Allow(AllowReason::Permission(source)),
        PermissionPolicy::Ask => GateDecision::Ask(AskReason::Permission(source)),
        PermissionPolicy::Deny => GateDecision::Deny(DenyReason::Permission(source)),
    }
}

fn stricter(first: GateDecision, second: GateDecision) -> GateDecision {
    let strictness = |decision: &GateDecision| match decision {
        GateDecision::Allow(_) => 0,
        GateDecision::Ask(_) => 1,
        GateDecision::Deny(_) => 2,
    };
    if strictness(&second) > strictness(&first) { second } else { first }
}

impl GateDecision {
    /// Returns the decision without its reason, as it is stored: `allow`, `ask` or `deny`.
    pub const fn verdict(&self) -> &'static str {
        match self {
            Self::Allow(_) => "allow",
            Self::Ask(_) => "ask",
            Self::Deny(_) => "deny",
        }
    }
}

impl DenyReason {
    /// Returns the text for the model. It reveals no figures and no rules, because an
    /// agent may repeat to a customer what it reads.
    pub const fn model_text(&self) -> &'static str {
        match self {
            Self::UnknownTool | Self::OutOfScope(_) => "this tool is not available to you",
            Self::Disabled { .. } => "this tool has failed too often and is off for now",
            Self::OverBudget(_) | Self::SessionReadOnly => {
                "there is not enough credit left for this"
            }
            Self::DraftOnly => "you may look things up and draft, but not change anything",
            Self::Permission(_) => "the user does not allow this tool",
        }
    }
}

impl fmt::Display for GateDecision {
    /// The reason in a few words for operators: `destructive, supervised`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow(AllowReason::ControlTool) => f.write_str("control tool"),
            Self::Allow(AllowReason::Proposal) => f.write_str("a person decides on the proposal"),
            Self::Allow(AllowReason::Approved) => f.write_str("approved by a person"),
            Self::Ask(AskReason::Untrusted) => f.write_str("after reading content from outside"),
            Self::Ask(AskReason::UnlistedHost) => {
                f.write_str("a host outside the org's list, after reading private content")
            }
            Self::Ask(AskReason::ApprovalList) => f.write_str("on the agent's approval list"),
            Self::Allow(AllowReason::Autonomy { level, risk })
            | Self::Ask(AskReason::Autonomy { level, risk }) => {
                write!(f, "{}, {level}", risk.name())
            }
            Self::Allow(AllowReason::Permission(source))
            | Self::Ask(AskReason::Permission(source))
            | Self::Deny(DenyReason::Permission(source)) => write!(f, "{source}"),
            Self::Deny(DenyReason::UnknownTool) => f.write_str("there is no such tool"),
            Self::Deny(DenyReason::OutOfScope(removal)) => write!(f, "{removal}"),
            Self::Deny(DenyReason::Disabled { failures }) => {
                write!(f, "failed {failures} times in this session")
            }
            Self::Deny(DenyReason::OverBudget(exceeded)) => write!(f, "{exceeded}"),
            Self::Deny(DenyReason::SessionReadOnly) => {
                write!(f, "{}", Removal::SessionReadOnly)
            }
            Self::Deny(DenyReason::DraftOnly) => f.write_str("draft_only runs tools that read"),
        }
    }
}

#[cfg(test)]
mod tests;
