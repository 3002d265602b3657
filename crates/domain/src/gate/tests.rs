//! Table tests of the gate.

use std::collections::BTreeSet;

use super::permission::{
    PermissionFacts, PermissionPolicy, PermissionRules, PermissionSource, SessionGrants,
};
use super::{
    AllowReason, AskReason, DenyReason, GateDecision, GateFacts, GateRules, decide, decide_approved,
};
use crate::agent::autonomy::AutonomyLevel::{
    self, Autonomous, DraftOnly, SemiAutonomous, Supervised,
};
use crate::agent::subtype::Subtype;
use crate::channel::Channel;
use crate::money::Credits;
use crate::money::caps::{BudgetExceeded, BudgetLimit, TurnBudget};
use crate::org::layer::{BusinessLayer, BusinessPosition};
use crate::scope::policy::ToolPolicy;
use crate::scope::removal::{PolicyLayer, Removal};
use crate::scope::session::SessionTools;
use crate::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use crate::session::errors::{DisabledTool, ErrorPolicy, ErrorState};
use crate::testing;
use crate::time::Timestamp;
use crate::tool::catalogue::built_in;
use crate::tool::profile::ToolProfile;
use crate::tool::{
    Audience, Integration, Risk, ToolCategory, ToolGroup, ToolName, ToolSpec, Trust,
};

const AMPLE_BUDGET: TurnBudget = TurnBudget {
    reserved: Credits::new(100),
    top_up: Credits::ZERO,
    session: Credits::new(100),
    subagent: None,
    read_reserve: Credits::new(10),
    team: None,
};

/// A scope with every tool except a denied and a failed one, and with the control
/// tools of an interactive harness.
fn scope() -> ToolScope {
    let position = BusinessPosition::of(&testing::agency(), &Subtype::Pm);
    let mut session = SessionTools::new(Channel::Webchat, Audience::Staff);
    let failed = DisabledTool { failures: 3, since: Timestamp::from_millis(0) };
    session.disabled.insert("web_fetch".parse().unwrap(), failed);
    let platform = ToolPolicy { deny: ["send_sms".parse().unwrap()].into(), ..Default::default() };
    let facts = ScopeFacts {
        platform: &platform,
        org: OrgTools {
            policy: &ToolPolicy::default(),
            integrations: &["payments", "unsplash"].map(Integration::new).into(),
            sub_orgs_enabled: true,
            team_coordination: true,
        },
        agent: AgentTools {
            position: &position,
            profile: ToolProfile::Everything,
            policy: &ToolPolicy::default(),
            // The widest level, so that the gate alone narrows in these tests.
            autonomy: Autonomous,
        },
        session: &session,
    };
    let control = ["ask_user", "submit_plan", "task_write", "task_check"]
        .map(|name| ToolSpec::control(ToolName::from_static(name), ToolGroup::Team));
    resolve(built_in().into_iter().chain(control), &facts)
}

struct Case {
    scope: ToolScope,
    errors: ErrorState,
    budget: TurnBudget,
    trust: Trust,
    approval_list: BTreeSet<ToolName>,
}

fn case() -> Case {
    Case {
        scope: scope(),
        errors: ErrorState::default(),
        budget: AMPLE_BUDGET,
        trust: Trust::Trusted,
        approval_list: BTreeSet::new(),
    }
}

impl Case {
    fn facts<'a>(&'a self, rules: GateRules<'a>) -> GateFacts<'a> {
        GateFacts {
            scope: &self.scope,
            errors: &self.errors,
            budget: &self.budget,
            trust: self.trust,
            require_approval_for: &self.approval_list,
            rules,
            arguments: &serde_json::Value::Null,
        }
    }

    fn at(&self, level: AutonomyLevel, tool: &str) -> GateDecision {
        decide(tool, &self.facts(GateRules::Conversation(level)))
    }
}

fn ask(level: AutonomyLevel, risk: Risk) -> GateDecision {
    GateDecision::Ask(AskReason::Autonomy { level, risk })
}

fn allow(level: AutonomyLevel, risk: Risk) -> GateDecision {
    GateDecision::Allow(AllowReason::Autonomy { level, risk })
}

/// C05, D01-D04: every level with a read, a write and a destructive tool.
#[test]
fn d01_to_d04_autonomy_decides_by_risk() {
    use Risk::{Destructive, Read, Write};
    let deny = || GateDecision::Deny(DenyReason::DraftOnly);
    let table = [
        (
            "D01",
            Supervised,
            [ask(Supervised, Read), ask(Supervised, Write), ask(Supervised, Destructive)],
        ),
        (
            "D04",
            SemiAutonomous,
            [
                allow(SemiAutonomous, Read),
                ask(SemiAutonomous, Write),
                ask(SemiAutonomous, Destructive),
            ],
        ),
        (
            "D02",
            Autonomous,
            [allow(Autonomous, Read), allow(Autonomous, Write), allow(Autonomous, Destructive)],
        ),
        ("D03", DraftOnly, [allow(DraftOnly, Read), deny(), deny()]),
    ];
    for (row, level, expected) in table {
        let got =
            ["get_order", "create_booking", "refund_payment"].map(|tool| case().at(level, tool));
        assert_eq!(got, expected, "{row}");
    }
}

/// D01, D03: control tools need only be in scope, at every level and at any price.
#[test]
fn d01_control_tools_never_need_approval() {
    let mut case = case();
    case.budget = TurnBudget { reserved: Credits::ZERO, session: Credits::ZERO, ..AMPLE_BUDGET };
    let control = [
        "ask_user",
        "submit_plan",
        "task_write",
        "task_check",
        "tag_in_agent",
        "escalate_to_human",
        "escalate_to_parent",
    ];
    for tool in control {
        for level in AutonomyLevel::ALL {
            let decision = case.at(level, tool);
            assert_eq!(decision, GateDecision::Allow(AllowReason::ControlTool), "{tool} {level}");
        }
    }
}

/// H08: a proposal waits for a person anyway, so the call asks nobody; the approval list of
/// an agent still does.
#[test]
fn h08_a_proposal_asks_nobody_before_it_is_made() {
    let mut case = case();
    let tool = "propose_soul_update";
    for level in AutonomyLevel::ALL {
        assert_eq!(case.at(level, tool), GateDecision::Allow(AllowReason::Proposal), "{level}");
    }
    case.approval_list = [tool.parse().unwrap()].into();
    let asked = GateDecision::Ask(AskReason::ApprovalList);
    assert_eq!(case.at(AutonomyLevel::Autonomous, tool), asked);
}

/// D02: a tool on the approval list asks at every level, also if it reads.
#[test]
fn d02_the_approval_list_asks_at_every_level() {
    let mut case = case();
    case.approval_list = ["get_order".parse().unwrap()].into();
    for level in AutonomyLevel::ALL {
        assert_eq!(
            case.at(level, "get_order"),
            GateDecision::Ask(AskReason::ApprovalList),
            "{level}"
        );
    }
    assert_eq!(case.at(SemiAutonomous, "search_contacts"), allow(SemiAutonomous, Risk::Read));
}

/// B10, C06, C07: a tool that is unknown, out of scope, disabled or too expensive
/// never runs, not even approved (D09).
#[test]
fn b10_c06_c07_d09_no_approval_overrides_scope_failures_or_budget() {
    let mut case = case();
    case.budget.session = Credits::new(1);
    case.budget.read_reserve = Credits::ZERO;
    let denied = Removal::Denied { policy_layer: PolicyLayer::Platform };
    let exceeded = BudgetExceeded {
        wanted: Credits::new(2),
        remaining: Credits::new(1),
        limit: BudgetLimit::Session,
    };
    let table = [
        ("B10", "delete_everything", DenyReason::UnknownTool),
        ("B10", "send_sms", DenyReason::OutOfScope(denied)),
        ("C06", "web_fetch", DenyReason::Disabled { failures: 3 }),
        ("C07", "send_email", DenyReason::OverBudget(exceeded)),
    ];
    for (row, tool, expected) in table {
        let expected = GateDecision::Deny(expected);
        assert_eq!(case.at(Autonomous, tool), expected, "{row}");
        let facts = case.facts(GateRules::Conversation(Supervised));
        assert_eq!(decide_approved(tool, &facts), expected, "{row} approved");
    }
}

/// C06: a tool that fails for the third time in a turn is disabled in that turn.
#[test]
fn c06_a_tool_is_disabled_in_the_turn_of_its_third_failure() {
    let mut case = case();
    let tool = "get_order".parse().unwrap();
    for _ in 0..3 {
        assert_eq!(case.at(Autonomous, "get_order"), allow(Autonomous, Risk::Read));
        case.errors.record_failure(&tool, ErrorPolicy::default(), Timestamp::from_millis(0));
    }
    let off = GateDecision::Deny(DenyReason::Disabled { failures: 3 });
    assert_eq!(case.at(Autonomous, "get_order"), off);
}

/// C11, D01: failures never disable a control tool.
#[test]
fn d01_failures_never_disable_control_tools() {
    let mut case = case();
    for name in ["escalate_to_human", "tag_in_agent", "ask_user"] {
        for _ in 0..5 {
            let tool = name.parse().unwrap();
            case.errors.record_failure(&tool, ErrorPolicy::default(), Timestamp::from_millis(0));
        }
        let decision = case.at(Supervised, name);
        assert_eq!(decision, GateDecision::Allow(AllowReason::ControlTool), "{name}");
    }
}

/// E08: once a session reaches its warning, only tools that read run, also within a
/// turn.
#[test]
fn e08_a_turn_that_passes_the_warning_is_read_only() {
    let mut case = case();
    case.budget.session = Credits::new(11);
    assert_eq!(case.at(Autonomous, "create_booking"), allow(Autonomous, Risk::Write));
    case.budget.record(Credits::new(1));
    let only_reading = GateDecision::Deny(DenyReason::SessionReadOnly);
    assert_eq!(case.at(Autonomous, "create_booking"), only_reading);
    assert_eq!(case.at(Autonomous, "get_order"), allow(Autonomous, Risk::Read));
    assert_eq!(
        case.at(Autonomous, "escalate_to_human"),
        GateDecision::Allow(AllowReason::ControlTool)
    );
}

/// B19: a tool for exchange between layers is refused where its layer does not have
/// it.
#[test]
fn b19_calling_another_layers_tool_is_refused() {
    let decision = case().at(Autonomous, "share_insight_upward");
    let removal = Removal::OtherLayersTool { business_layer: BusinessLayer::Agency };
    assert_eq!(decision, GateDecision::Deny(DenyReason::OutOfScope(removal)));
}

/// D03, D09, M12: what the rules forbid is refused before anybody is asked, and
/// also if it was approved earlier.
#[test]
fn d03_d09_deny_beats_ask_and_approval() {
    let mut case = case();
    case.trust = Trust::Untrusted;
    case.approval_list = ["create_booking".parse().unwrap()].into();
    let drafting = case.facts(GateRules::Conversation(DraftOnly));
    let mut rules = PermissionRules::default();
    for tool in ["refund_payment", "create_booking"] {
        rules.tools.insert(tool.parse().unwrap(), PermissionPolicy::Deny);
    }
    let grants = SessionGrants::default();
    let permissions = PermissionFacts { yolo: false, rules: &rules, grants: &grants };
    let forbidden = case.facts(GateRules::Interactive(&permissions));
    for tool in ["refund_payment", "create_booking"] {
        for decide_call in [decide, decide_approved] {
            assert_eq!(decide_call(tool, &drafting), GateDecision::Deny(DenyReason::DraftOnly));
            let denied = GateDecision::Deny(DenyReason::Permission(PermissionSource::ToolPolicy));
            assert_eq!(decide_call(tool, &forbidden), denied);
        }
    }
}

/// L48: the text of a refusal for the model has no figures.
#[test]
fn l48_a_refusal_text_for_the_model_has_no_figures() {
    let mut case = case();
    case.budget.session = Credits::new(1);
    let GateDecision::Deny(reason) = case.at(Autonomous, "send_email") else {
        panic!("it is too expensive")
    };
    assert_eq!(reason.model_text(), "there is not enough credit left for this");
}

/// D09: an approved call runs without asking again while the rules still allow it.
#[test]
fn d09_an_approved_call_runs_if_the_current_rules_allow_it() {
    let case = case();
    let facts = case.facts(GateRules::Conversation(Supervised));
    let decision = decide_approved("refund_payment", &facts);
    assert_eq!(decision, GateDecision::Allow(AllowReason::Approved));
}

/// Z10: after reading content from outside, destructive tools ask at any autonomy
/// and with yolo; others are decided as before.
#[test]
fn z10_destructive_tools_ask_after_untrusted_content() {
    let mut case = case();
    case.trust = Trust::Untrusted;
    let ask = GateDecision::Ask(AskReason::Untrusted);
    assert_eq!(case.at(Autonomous, "refund_payment"), ask);
    assert_eq!(case.at(Autonomous, "create_booking"), allow(Autonomous, Risk::Write));
    let (rules, grants) = (PermissionRules::default(), SessionGrants::default());
    let yolo = PermissionFacts { yolo: true, rules: &rules, grants: &grants };
    let facts = case.facts(GateRules::Interactive(&yolo));
    assert_eq!(decide("refund_payment", &facts), ask);
}

/// S16, Z10: after reading content from outside, a call that acts outside of the conversation
/// asks; reads, the customer's own records, proposals, and what a user or the author of a
/// workflow has allowed, are decided as before.
#[test]
fn s16_calls_that_act_outside_ask_after_untrusted_content() {
    let mut case = case();
    let (rules, grants) = (PermissionRules::default(), SessionGrants::default());
    let yolo = PermissionFacts { yolo: true, rules: &rules, grants: &grants };
    let conversation = GateRules::Conversation(Autonomous);
    let (step, both) = (GateRules::WorkflowCall(Autonomous), GateRules::Both(Autonomous, &yolo));
    let interactive = GateRules::Interactive(&yolo);
    for (tool, rules, asks) in [
        ("send_email", conversation, true),
        ("send_email", both, true),
        ("send_email", step, false),
        ("send_email", interactive, false),
        ("update_agent", conversation, true),
        ("instruct_agent", conversation, true),
        ("create_client_org", conversation, true),
        ("deploy_telegram_bot", conversation, true),
        ("delete_contact", step, true),
        ("delete_contact", interactive, true),
        ("search_unsplash_images", conversation, false),
        ("create_booking", conversation, false),
        ("update_contact", conversation, false),
        ("propose_soul_update", conversation, false),
        ("escalate_to_human", conversation, false),
    ] {
        for trust in [Trust::Trusted, Trust::Private, Trust::Untrusted] {
            case.trust = trust;
            let decision = decide(tool, &case.facts(rules));
            let asked = decision == GateDecision::Ask(AskReason::Untrusted);
            assert_eq!(asked, asks && trust == Trust::Untrusted, "{tool} {trust:?} {rules:?}");
        }
    }
}

/// M12, M14: the permission chain decides, and yolo stays inside the scope.
#[test]
fn m12_m14_permissions_apply_inside_the_scope() {
    let case = case();
    let mut rules = PermissionRules::default();
    rules.categories.insert(ToolCategory::Read, PermissionPolicy::Allow);
    rules.tools.insert("delete_contact".parse().unwrap(), PermissionPolicy::Deny);
    let grants = SessionGrants::default();
    let check = |yolo, tool: &str, expected: GateDecision| {
        let facts = PermissionFacts { yolo, rules: &rules, grants: &grants };
        let decision = decide(tool, &case.facts(GateRules::Interactive(&facts)));
        assert_eq!(decision, expected, "{tool} yolo={yolo}");
    };
    check(
        false,
        "get_order",
        GateDecision::Allow(AllowReason::Permission(PermissionSource::CategoryPolicy)),
    );
    check(
        false,
        "create_booking",
        GateDecision::Ask(AskReason::Permission(PermissionSource::Default)),
    );
    check(
        false,
        "delete_contact",
        GateDecision::Deny(DenyReason::Permission(PermissionSource::ToolPolicy)),
    );
    check(
        true,
        "delete_contact",
        GateDecision::Allow(AllowReason::Permission(PermissionSource::Yolo)),
    );
    let denied = Removal::Denied { policy_layer: PolicyLayer::Platform };
    check(true, "send_sms", GateDecision::Deny(DenyReason::OutOfScope(denied)));
    check(true, "web_fetch", GateDecision::Deny(DenyReason::Disabled { failures: 3 }));
}

/// Where autonomy and permissions both apply, the stricter decision counts.
#[test]
fn the_stricter_of_autonomy_and_permissions_counts() {
    let case = case();
    let (rules, grants) = (PermissionRules::default(), SessionGrants::default());
    let both = |level, yolo| {
        let facts = PermissionFacts { yolo, rules: &rules, grants: &grants };
        decide("create_booking", &case.facts(GateRules::Both(level, &facts)))
    };
    assert_eq!(both(Supervised, true), ask(Supervised, Risk::Write));
    assert_eq!(
        both(Autonomous, false),
        GateDecision::Ask(AskReason::Permission(PermissionSource::Default))
    );
    assert_eq!(both(Autonomous, true), allow(Autonomous, Risk::Write));
    assert_eq!(both(DraftOnly, false), GateDecision::Deny(DenyReason::DraftOnly));
}
