//! Replays recorded tool calls under other rules: what the gate would have decided.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{AllowReason, AskReason, DenyReason, GateDecision, GateFacts, GateRules};
use crate::agent::autonomy::AutonomyLevel;
use crate::money::Credits;
use crate::money::caps::TurnBudget;
use crate::scope::ToolScope;
use crate::scope::removal::Removal;
use crate::session::errors::ErrorState;
use crate::tool::{ToolName, Trust};

/// The rules that a recorded call is replayed under.
#[derive(Debug, Clone, Copy)]
pub struct ReplayRules<'a> {
    /// The scope of the agent in a session without failures and with an open budget.
    pub scope: &'a ToolScope,
    pub autonomy: AutonomyLevel,
    /// Tools that need approval at every level.
    pub require_approval_for: &'a BTreeSet<ToolName>,
}

/// Returns what the gate would have decided on a recorded call under other rules. What the
/// session contributed stays as it was: its failures, its budget, whether content from
/// outside had been read, and whether a person had approved the call.
pub fn replay(tool: &str, recorded: &GateDecision, rules: &ReplayRules<'_>) -> GateDecision {
    let trust = match recorded {
        GateDecision::Ask(AskReason::Untrusted) => Trust::Untrusted,
        GateDecision::Ask(AskReason::UnlistedHost) => Trust::Private,
        _ => Trust::Trusted,
    };
    let facts = GateFacts {
        scope: rules.scope,
        errors: &ErrorState::default(),
        budget: &UNLIMITED,
        trust,
        require_approval_for: rules.require_approval_for,
        rules: GateRules::Conversation(rules.autonomy),
        // Only permissions of an interactive harness look at arguments.
        arguments: &Value::Null,
    };
    let decision = match recorded {
        GateDecision::Allow(AllowReason::Approved) => super::decide_approved(tool, &facts),
        _ => super::decide(tool, &facts),
    };
    match (&decision, recorded) {
        (GateDecision::Deny(_), _) => decision,
        (_, GateDecision::Deny(reason)) if is_of_session(reason) => recorded.clone(),
        _ => decision,
    }
}

const UNLIMITED: TurnBudget = TurnBudget {
    reserved: Credits::new(u64::MAX),
    top_up: Credits::ZERO,
    session: Credits::new(u64::MAX),
    subagent: None,
    read_reserve: Credits::ZERO,
    team: None,
};

/// Returns whether a call was refused for the state of its session, whatever the policies.
const fn is_of_session(reason: &DenyReason) -> bool {
    match reason {
        DenyReason::Disabled { .. } | DenyReason::OverBudget(_) | DenyReason::SessionReadOnly => {
            true
        }
        DenyReason::OutOfScope(removal) => {
            matches!(removal, Removal::FailedTooOften { .. } | Removal::SessionReadOnly)
        }
        DenyReason::UnknownTool | DenyReason::DraftOnly | DenyReason::Permission(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{ReplayRules, replay};
    use crate::agent::autonomy::AutonomyLevel::{self, Autonomous, Supervised};
    use crate::agent::subtype::Subtype;
    use crate::channel::Channel;
    use crate::gate::{AllowReason, AskReason, DenyReason, GateDecision};
    use crate::org::layer::BusinessPosition;
    use crate::scope::policy::ToolPolicy;
    use crate::scope::removal::{PolicyLayer, Removal};
    use crate::scope::session::SessionTools;
    use crate::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
    use crate::testing;
    use crate::tool::profile::ToolProfile;
    use crate::tool::{Audience, Integration, Risk, ToolName, catalogue};

    const REFUND: &str = "refund_payment";

    /// Returns the scope of an agent whose org denies these tools.
    fn scope(deny: &[&str]) -> ToolScope {
        let deny = deny.iter().map(|name| name.parse().unwrap()).collect();
        let position = BusinessPosition::of(&testing::agency(), &Subtype::Pm);
        let facts = ScopeFacts {
            platform: &ToolPolicy::default(),
            org: OrgTools {
                policy: &ToolPolicy { deny, ..ToolPolicy::default() },
                integrations: &["payments"].map(Integration::new).into(),
                sub_orgs_enabled: true,
                team_coordination: true,
            },
            agent: AgentTools {
                position: &position,
                profile: ToolProfile::Everything,
                policy: &ToolPolicy::default(),
                autonomy: Autonomous,
            },
            session: &SessionTools::new(Channel::Webchat, Audience::Staff),
        };
        resolve(catalogue::built_in(), &facts)
    }

    fn check(
        recorded: &GateDecision,
        (deny, autonomy, approve): (&[&str], AutonomyLevel, &[&str]),
        expected: &GateDecision,
    ) {
        let require_approval_for: BTreeSet<ToolName> =
            approve.iter().map(|name| name.parse().unwrap()).collect();
        let scope = scope(deny);
        let rules =
            ReplayRules { scope: &scope, autonomy, require_approval_for: &require_approval_for };
        assert_eq!(replay(REFUND, recorded, &rules), *expected, "{recorded:?}");
    }

    /// Z13: a recorded call is decided by the other rules, with its own session.
    #[test]
    fn z13_a_recorded_call_is_decided_by_other_rules() {
        let risk = Risk::Destructive;
        let allow = GateDecision::Allow(AllowReason::Autonomy { level: Autonomous, risk });
        let ask = GateDecision::Ask(AskReason::Autonomy { level: Supervised, risk });
        let untrusted = GateDecision::Ask(AskReason::Untrusted);
        let on_list = GateDecision::Ask(AskReason::ApprovalList);
        let approved = GateDecision::Allow(AllowReason::Approved);
        let denied = GateDecision::Deny(DenyReason::OutOfScope(Removal::Denied {
            policy_layer: PolicyLayer::Org,
        }));
        let failed = GateDecision::Deny(DenyReason::Disabled { failures: 3 });
        let read_only = GateDecision::Deny(DenyReason::OutOfScope(Removal::SessionReadOnly));
        let deny_refunds: &[&str] = &[REFUND];
        let none: &[&str] = &[];
        check(&allow, (deny_refunds, Autonomous, none), &denied);
        check(&allow, (none, Supervised, none), &ask);
        check(&allow, (none, Autonomous, deny_refunds), &on_list);
        check(&ask, (none, Autonomous, none), &allow);
        check(&denied, (none, Supervised, none), &ask);
        // What the session contributed stays.
        check(&untrusted, (none, Autonomous, none), &untrusted);
        check(&approved, (none, Supervised, none), &approved);
        check(&approved, (deny_refunds, Supervised, none), &denied);
        check(&failed, (none, Autonomous, none), &failed);
        check(&read_only, (none, Autonomous, none), &read_only);
        check(&read_only, (deny_refunds, Autonomous, none), &denied);
    }

    /// Z13: a tool that does not exist is refused under every rule.
    #[test]
    fn z13_an_unknown_tool_stays_refused() {
        let unknown = GateDecision::Deny(DenyReason::UnknownTool);
        let (scope, none) = (scope(&[]), BTreeSet::new());
        let rules =
            ReplayRules { scope: &scope, autonomy: Autonomous, require_approval_for: &none };
        assert_eq!(replay("send_flowers", &unknown, &rules), unknown);
    }
}
