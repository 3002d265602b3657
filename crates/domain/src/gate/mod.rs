//! The gate's decision: may this call run, must it be refused, must it wait.
//!
//! A pure function of the facts. It decides in a fixed order, fails closed and
//! says why, also when it allows.

pub mod approval;
pub mod permission;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::agent::autonomy::AutonomyLevel;
use crate::money::caps::{OverBudget, TurnBudget};
use crate::scope::ToolScope;
use crate::scope::removal::Removal;
use crate::session::errors::ErrorState;
use crate::tool::{Category, Risk, ToolName, ToolRole, ToolSpec, Trust};
use permission::{PermissionFacts, PermissionPolicy, Rung};

/// Whose rules apply beyond the scope.
#[derive(Debug, Clone, Copy)]
pub enum Authority<'a> {
    /// A customer's conversation: the agent's autonomy.
    Conversation(AutonomyLevel),
    /// An interactive harness: the user's permissions.
    Interactive(PermissionFacts<'a>),
    /// Both, and the stricter counts.
    Both(AutonomyLevel, PermissionFacts<'a>),
}

/// What the decision depends on.
#[derive(Debug, Clone, Copy)]
pub struct GateFacts<'a> {
    /// The resolved scope, as the model was offered it.
    pub scope: &'a ToolScope,
    /// The session's failures of this moment: a tool that failed its last time
    /// in this turn is off at once.
    pub errors: &'a ErrorState,
    /// What the turn may still spend.
    pub budget: &'a TurnBudget,
    /// Whether the turn has read content from outside.
    pub trust: Trust,
    /// Tools that ask first at every level.
    pub require_approval_for: &'a BTreeSet<ToolName>,
    /// Whose rules apply.
    pub authority: Authority<'a>,
}

/// The decision on one call, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", content = "reason", rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow(AllowReason),
    /// It waits for a person.
    Ask(AskReason),
    /// It does not run; the model is told why.
    Deny(DenyReason),
}

/// Why a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowReason {
    /// A control tool in scope.
    ControlTool,
    /// The agent's autonomy allows this risk.
    Autonomy {
        /// The level.
        level: AutonomyLevel,
        /// The risk.
        risk: Risk,
    },
    /// The user's permissions allow it.
    Permission(Rung),
    /// A person approved exactly this call.
    Approved,
}

/// Why a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskReason {
    /// The turn has read content from outside and the tool is destructive.
    Untrusted,
    /// The tool is on the agent's approval list.
    ApprovalList,
    /// The agent's autonomy does not cover this risk.
    Autonomy {
        /// The level.
        level: AutonomyLevel,
        /// The risk.
        risk: Risk,
    },
    /// The user's permissions say ask.
    Permission(Rung),
}

/// Why a call does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DenyReason {
    /// Nobody has heard of this tool.
    UnknownTool,
    /// The scope does not have it.
    OutOfScope(Removal),
    /// It failed too often in this session.
    Disabled {
        /// How often.
        failures: u32,
    },
    /// It costs more than is left.
    OverBudget(OverBudget),
    /// The session has spent so much that only reading is left.
    SessionReadOnly,
    /// The agent only drafts.
    DraftOnly,
    /// The user's permissions say deny.
    Permission(Rung),
}

/// Decides on a call of the tool that the model named.
pub fn decide(tool: &str, facts: &GateFacts<'_>) -> Verdict {
    let spec = match admit(tool, facts) {
        Ok(spec) => spec,
        Err(denied) => return Verdict::Deny(denied),
    };
    if spec.role == ToolRole::Control {
        Verdict::Allow(AllowReason::ControlTool)
    } else {
        let verdict = by_authority(spec, facts.authority);
        // Nobody is asked about what would be refused anyway.
        if matches!(verdict, Verdict::Deny(_)) {
            verdict
        } else if facts.trust == Trust::Untrusted && spec.risk == Risk::Destructive {
            Verdict::Ask(AskReason::Untrusted)
        } else if facts.require_approval_for.contains(&spec.name) {
            Verdict::Ask(AskReason::ApprovalList)
        } else {
            verdict
        }
    }
}

/// Decides on a call that a person has approved: under the policy of now, it
/// may still be refused, but it does not ask again.
pub fn decide_approved(tool: &str, facts: &GateFacts<'_>) -> Verdict {
    let spec = match admit(tool, facts) {
        Ok(spec) => spec,
        Err(denied) => return Verdict::Deny(denied),
    };
    match by_authority(spec, facts.authority) {
        denied @ Verdict::Deny(_) if spec.role == ToolRole::Ordinary => denied,
        _ => Verdict::Allow(AllowReason::Approved),
    }
}

/// Scope, session failures and budget: what no approval overrides.
fn admit<'a>(tool: &str, facts: &GateFacts<'a>) -> Result<&'a ToolSpec, DenyReason> {
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
    facts.budget.check(scoped.spec.price).map_err(DenyReason::OverBudget)?;
    if scoped.spec.risk != Risk::Read && facts.budget.only_reading() {
        return Err(DenyReason::SessionReadOnly);
    }
    Ok(&scoped.spec)
}

fn by_authority(spec: &ToolSpec, authority: Authority<'_>) -> Verdict {
    match authority {
        Authority::Conversation(level) => by_autonomy(level, spec.risk),
        Authority::Interactive(facts) => by_permission(&spec.name, spec.category, facts),
        Authority::Both(level, facts) => {
            stricter(by_autonomy(level, spec.risk), by_permission(&spec.name, spec.category, facts))
        }
    }
}

const fn by_autonomy(level: AutonomyLevel, risk: Risk) -> Verdict {
    match (level, risk) {
        (AutonomyLevel::Autonomous, _)
        | (AutonomyLevel::SemiAutonomous | AutonomyLevel::DraftOnly, Risk::Read) => {
            Verdict::Allow(AllowReason::Autonomy { level, risk })
        }
        (AutonomyLevel::Supervised | AutonomyLevel::SemiAutonomous, _) => {
            Verdict::Ask(AskReason::Autonomy { level, risk })
        }
        (AutonomyLevel::DraftOnly, _) => Verdict::Deny(DenyReason::DraftOnly),
    }
}

fn by_permission(tool: &ToolName, category: Category, facts: PermissionFacts<'_>) -> Verdict {
    let (policy, rung) = facts.resolve(tool, category);
    match policy {
        PermissionPolicy::Allow => Verdict::Allow(AllowReason::Permission(rung)),
        PermissionPolicy::Ask => Verdict::Ask(AskReason::Permission(rung)),
        PermissionPolicy::Deny => Verdict::Deny(DenyReason::Permission(rung)),
    }
}

fn stricter(one: Verdict, other: Verdict) -> Verdict {
    let strictness = |verdict: &Verdict| match verdict {
        Verdict::Allow(_) => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny(_) => 2,
    };
    if strictness(&other) > strictness(&one) { other } else { one }
}

impl DenyReason {
    /// What the model is told. It names no figures and no rules of others: an
    /// agent may repeat to a customer whatever it reads.
    pub const fn for_model(&self) -> &'static str {
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

impl fmt::Display for Verdict {
    /// The reason in a few words for operators: `destructive, supervised`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow(AllowReason::ControlTool) => f.write_str("control tool"),
            Self::Allow(AllowReason::Approved) => f.write_str("approved by a person"),
            Self::Ask(AskReason::Untrusted) => {
                f.write_str("destructive, after reading content from outside")
            }
            Self::Ask(AskReason::ApprovalList) => f.write_str("on the agent's approval list"),
            Self::Allow(AllowReason::Autonomy { level, risk })
            | Self::Ask(AskReason::Autonomy { level, risk }) => {
                write!(f, "{}, {level}", risk.name())
            }
            Self::Allow(AllowReason::Permission(rung))
            | Self::Ask(AskReason::Permission(rung))
            | Self::Deny(DenyReason::Permission(rung)) => write!(f, "{rung}"),
            Self::Deny(DenyReason::UnknownTool) => f.write_str("there is no such tool"),
            Self::Deny(DenyReason::OutOfScope(removal)) => write!(f, "{removal}"),
            Self::Deny(DenyReason::Disabled { failures }) => {
                write!(f, "failed {failures} times in this session")
            }
            Self::Deny(DenyReason::OverBudget(short)) => write!(f, "{short}"),
            Self::Deny(DenyReason::SessionReadOnly) => {
                write!(f, "{}", Removal::SessionReadOnly)
            }
            Self::Deny(DenyReason::DraftOnly) => f.write_str("draft_only runs tools that read"),
        }
    }
}

#[cfg(test)]
mod tests;
