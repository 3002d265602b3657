//! Who set the rule by which a call waits for a person, and what would let it run.

use ostler_domain::agent::Agent;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::AskReason;
use ostler_domain::org::Org;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Risk;
use ostler_runtime::operations::OrgOperations;
use ostler_store::{AuditFilter, DecisionState, StoredApproval};
use ostler_world::{Address, Kind};
use serde::Serialize;

/// The most audit entries and approvals that are searched.
const SEARCHED: u32 = 500;

/// The setting that a question comes from.
#[derive(Debug, Serialize)]
pub(super) struct RuleSetting {
    /// The resource that has it, as in the audit log.
    pub(super) resource: String,
    pub(super) field: &'static str,
    /// Who set it last; `None` if it is as it was set up.
    pub(super) set_by: Option<String>,
    pub(super) set_at: Option<Timestamp>,
    /// The command that changes as little as possible and lets such calls run.
    pub(super) allow_with: String,
    /// How many earlier calls of the agent waited for the same reason.
    pub(super) past_calls: usize,
}

impl RuleSetting {
    /// Finds the setting; `None` if the rule is built in.
    pub(super) async fn find(
        operations: &OrgOperations<'_>,
        org: &Org,
        agent: &Agent,
        stored: &StoredApproval,
    ) -> anyhow::Result<Option<Self>> {
        let Some((field, value)) = change(agent, stored) else { return Ok(None) };
        let address =
            Address { org: org.slug.clone(), kind: Kind::Agent, name: agent.slug.clone() };
        let resource = address.to_string();
        let filter = AuditFilter { subject: Some(resource.clone()), ..AuditFilter::default() };
        let entries = operations.audit(&filter, None, SEARCHED).await?;
        let set = entries.into_iter().find(|entry| {
            entry.changes.iter().any(|one| one.field == field && one.before != one.after)
        });
        let (set_by, set_at) = set.map(|set| (set.actor, set.entry.at)).unzip();
        let allow_with = format!("ostler agent set {} --org {} {value}", agent.slug, org.slug);
        let past_calls = count_past_calls(operations, stored).await?;
        Ok(Some(Self { resource, field, set_by, set_at, allow_with, past_calls }))
    }
}

/// Returns the field of the agent that asks, and the value with which it would not.
fn change(agent: &Agent, stored: &StoredApproval) -> Option<(&'static str, String)> {
    match &stored.approval.ask_reason {
        AskReason::Autonomy { risk, .. } => {
            let level = match risk {
                Risk::Read => AutonomyLevel::SemiAutonomous,
                Risk::Write | Risk::Destructive => AutonomyLevel::Autonomous,
            };
            Some(("autonomy", format!("autonomy={level}")))
        }
        AskReason::ApprovalList => {
            let others = agent.require_approval_for.iter();
            let others = others.filter(|tool| **tool != stored.approval.tool);
            let others: Vec<String> = others.map(ToString::to_string).collect();
            let list = serde_json::json!(others);
            Some(("require_approval_for", format!("'require_approval_for={list}'")))
        }
        AskReason::Untrusted | AskReason::UnlistedHost | AskReason::Permission(_) => None,
    }
}

async fn count_past_calls(
    operations: &OrgOperations<'_>,
    stored: &StoredApproval,
) -> anyhow::Result<usize> {
    let this = &stored.approval;
    let mut count = 0;
    for state in [DecisionState::Used, DecisionState::Approved, DecisionState::Rejected] {
        let decided = operations.approvals(state, None, SEARCHED).await?;
        let same = decided.iter().filter(|other| {
            let other = &other.approval;
            other.id != this.id
                && (other.agent, &other.tool, &other.ask_reason)
                    == (this.agent, &this.tool, &this.ask_reason)
        });
        count += same.count();
    }
    Ok(count)
}
