//! Properties of the gate: no facts lead around the scope, the budget or a required
//! approval.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::permission::{
    PermissionFacts, PermissionPolicy, PermissionQuery, PermissionRules, PermissionSource,
    Permissions, SessionGrants,
};
use ostler_domain::gate::{
    AskReason, DenyReason, GateDecision, GateFacts, GateRules, decide, decide_approved,
};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Risk, ToolCategory, ToolName, ToolRole, ToolSpec, Trust};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::check;
use crate::scope_inputs::{autonomy_levels, scope_inputs, some_of};

/// All facts of the gate. The same level, rules and grants serve all three kinds of
/// rules.
#[derive(Debug, Clone)]
struct Case {
    scope: ToolScope,
    errors: ErrorState,
    budget: TurnBudget,
    trust: Trust,
    approval_list: BTreeSet<ToolName>,
    level: AutonomyLevel,
    yolo: bool,
    rules: PermissionRules,
    grants: SessionGrants,
}

#[derive(Debug, Clone, Copy)]
enum RulesKind {
    Conversation,
    Interactive,
    Both,
}

const ALL_RULES: [RulesKind; 3] =
    [RulesKind::Conversation, RulesKind::Interactive, RulesKind::Both];

fn query(tool: &ToolSpec) -> PermissionQuery<'_> {
    let arguments = &serde_json::Value::Null;
    PermissionQuery { tool: &tool.name, category: tool.category, arguments }
}

impl Permissions for Case {
    fn resolve(&self, query: PermissionQuery<'_>) -> (PermissionPolicy, PermissionSource) {
        let facts = PermissionFacts { yolo: self.yolo, rules: &self.rules, grants: &self.grants };
        facts.resolve(query)
    }
}

impl Case {
    fn facts(&self, kind: RulesKind) -> GateFacts<'_> {
        GateFacts {
            scope: &self.scope,
            errors: &self.errors,
            budget: &self.budget,
            trust: self.trust,
            require_approval_for: &self.approval_list,
            rules: match kind {
                RulesKind::Conversation => GateRules::Conversation(self.level),
                RulesKind::Interactive => GateRules::Interactive(self),
                RulesKind::Both => GateRules::Both(self.level, self),
            },
            arguments: &serde_json::Value::Null,
        }
    }

    fn decide(&self, kind: RulesKind, tool: &ToolName) -> GateDecision {
        decide(tool.as_str(), &self.facts(kind))
    }

    fn affords(&self, tool: &ToolSpec) -> bool {
        let TurnBudget { reserved, top_up, session, team, .. } = self.budget;
        let price = tool.price_of(&serde_json::Value::Null);
        tool.role == ToolRole::Control
            || (price.get() <= reserved.get() + top_up.get()
                && price <= session
                && team.is_none_or(|left| price <= left))
    }

    fn failed(&self, tool: &ToolSpec) -> bool {
        tool.role != ToolRole::Control && self.errors.disabled().contains_key(&tool.name)
    }

    /// Returns whether the session is read-only and this tool does more than read.
    fn blocked_by_read_only(&self, tool: &ToolSpec) -> bool {
        let changes = tool.role != ToolRole::Control && tool.risk != Risk::Read;
        changes && self.budget.session <= self.budget.read_reserve
    }

    /// Iterates over the tools in scope that have not failed too often.
    fn working(&self) -> impl Iterator<Item = &ToolSpec> {
        self.scope.active().filter(|tool| !self.failed(tool))
    }

    /// Iterates over those that can be paid for and that the session allows.
    fn runnable(&self) -> impl Iterator<Item = &ToolSpec> {
        self.working().filter(|tool| self.affords(tool) && !self.blocked_by_read_only(tool))
    }

    /// Returns whether autonomy or permissions, each by itself, forbid this tool.
    fn forbidden(&self, kind: RulesKind, tool: &ToolSpec) -> bool {
        let drafts = self.level == AutonomyLevel::DraftOnly
            && tool.risk != Risk::Read
            && tool.role == ToolRole::Ordinary;
        let facts = PermissionFacts { yolo: self.yolo, rules: &self.rules, grants: &self.grants };
        let denied = facts.resolve(query(tool)).0 == PermissionPolicy::Deny;
        tool.role != ToolRole::Control
            && match kind {
                RulesKind::Conversation => drafts,
                RulesKind::Interactive => denied,
                RulesKind::Both => drafts || denied,
            }
    }
}

fn budgets() -> impl Strategy<Value = TurnBudget> {
    let read_reserve = prop_oneof![2 => Just(0), 1 => 0..6u64];
    (0..4u64, 0..4u64, 0..6u64, read_reserve, prop::option::of(0..6u64)).prop_map(
        |(reserved, top_up, session, read_reserve, team)| TurnBudget {
            reserved: Credits::new(reserved),
            top_up: Credits::new(top_up),
            session: Credits::new(session),
            subagent: None,
            read_reserve: Credits::new(read_reserve),
            team: team.map(Credits::new),
        },
    )
}

/// Failures of these tools, some of them too many.
fn failures(names: &[ToolName]) -> impl Strategy<Value = ErrorState> + use<> {
    (some_of(names, 4), some_of(names, 4)).prop_map(|(off, shaky)| {
        let mut errors = ErrorState::default();
        let often = off.into_iter().flat_map(|name| vec![name; 3]);
        for name in often.chain(shaky) {
            errors.record_failure(&name, ErrorPolicy::default(), Timestamp::from_millis(0));
        }
        errors
    })
}

fn cases() -> impl Strategy<Value = Case> {
    scope_inputs().prop_flat_map(|inputs| {
        let names: Vec<ToolName> = inputs.catalogue.iter().map(|tool| tool.name.clone()).collect();
        let policy =
            || select(vec![PermissionPolicy::Allow, PermissionPolicy::Ask, PermissionPolicy::Deny]);
        let category = [
            ToolCategory::Read,
            ToolCategory::Edit,
            ToolCategory::Execute,
            ToolCategory::Mcp,
            ToolCategory::Other,
        ];
        let rules = (
            prop::collection::btree_map(select(names.clone()), policy(), 0..8),
            prop::collection::btree_map(select(category.to_vec()), policy(), 0..5),
        );
        let grants = (some_of(&names, 8), subsequence(category.to_vec(), 0..=5));
        let trust = select(vec![Trust::Trusted, Trust::Untrusted]);
        let conversation = (some_of(&names, 8), autonomy_levels());
        let interactive = (any::<bool>(), rules, grants);
        let scope = inputs.scope();
        (budgets(), failures(&names), trust, conversation, interactive).prop_map(
            move |(budget, errors, trust, (approval_list, level), (yolo, rules, grants))| Case {
                scope: scope.clone(),
                errors,
                budget,
                trust,
                approval_list,
                level,
                yolo,
                rules: PermissionRules { tools: rules.0, categories: rules.1 },
                grants: SessionGrants {
                    tools: grants.0,
                    categories: grants.1.into_iter().collect(),
                },
            },
        )
    })
}

/// Ranks a decision from lax to strict.
fn strictness(decision: &GateDecision) -> u8 {
    match decision {
        GateDecision::Allow(_) => 0,
        GateDecision::Ask(_) => 1,
        GateDecision::Deny(_) => 2,
    }
}

/// B10, D09, M14, Z02: nothing outside the scope runs: not with yolo, grants or
/// rules, not autonomously, not approved.
#[test]
fn m14_z02_nothing_outside_the_scope_ever_runs() {
    check(150, &cases(), |case| {
        let unknown = ToolName::from_static("delete_everything");
        let tools = case.scope.tools().iter();
        let outside = tools.filter(|tool| tool.removed.is_some()).map(|tool| &tool.spec.name);
        for tool in outside.chain([&unknown]) {
            for kind in ALL_RULES {
                let decided = case.decide(kind, tool);
                let refused = matches!(
                    decided,
                    GateDecision::Deny(
                        DenyReason::OutOfScope(_)
                            | DenyReason::Disabled { .. }
                            | DenyReason::UnknownTool
                    )
                );
                prop_assert!(refused, "{}: {:?}", tool, decided);
                let approved = decide_approved(tool.as_str(), &case.facts(kind));
                prop_assert_eq!(approved, decided, "{} approved", tool);
            }
        }
        Ok(())
    });
}

/// C07, D09: a tool runs only if every limit, including what the org can add, can
/// pay for it; otherwise it is refused for that reason, approved or not.
#[test]
fn c07_only_affordable_tools_run() {
    check(150, &cases(), |case| {
        for tool in case.working() {
            for kind in ALL_RULES {
                let approved = decide_approved(tool.name.as_str(), &case.facts(kind));
                for decision in [case.decide(kind, &tool.name), approved] {
                    let over_budget =
                        matches!(decision, GateDecision::Deny(DenyReason::OverBudget(_)));
                    prop_assert_eq!(
                        over_budget,
                        !case.affords(tool),
                        "{}: {:?}",
                        tool.name,
                        decision
                    );
                }
            }
        }
        Ok(())
    });
}

/// E08: in a read-only session, an affordable tool that does more than read is
/// refused for that reason, approved or not, and no other tool is.
#[test]
fn e08_a_session_near_its_cap_runs_only_tools_that_read() {
    check(150, &cases(), |case| {
        for tool in case.working().filter(|tool| case.affords(tool)) {
            for kind in ALL_RULES {
                let approved = decide_approved(tool.name.as_str(), &case.facts(kind));
                for decision in [case.decide(kind, &tool.name), approved] {
                    let refused = decision == GateDecision::Deny(DenyReason::SessionReadOnly);
                    prop_assert_eq!(
                        refused,
                        case.blocked_by_read_only(tool),
                        "{}: {:?}",
                        tool.name,
                        decision
                    );
                }
            }
        }
        Ok(())
    });
}

/// C08, C09: an ordinary tool that has failed too often never runs, although the
/// scope offered to the model still has it, and no approval changes that.
#[test]
fn c08_a_tool_that_failed_too_often_never_runs() {
    check(150, &cases(), |case| {
        for tool in case.scope.active().filter(|tool| case.failed(tool)) {
            for kind in ALL_RULES {
                let approved = decide_approved(tool.name.as_str(), &case.facts(kind));
                let off = GateDecision::Deny(DenyReason::Disabled { failures: 3 });
                prop_assert_eq!(case.decide(kind, &tool.name), off.clone(), "{}", tool.name);
                prop_assert_eq!(approved, off, "{} approved", tool.name);
            }
        }
        Ok(())
    });
}

/// D03, D09, M12: what autonomy or permissions forbid is refused without asking,
/// approved or not; an approval runs everything else that is in scope, works and is
/// affordable.
#[test]
fn d09_no_approval_runs_what_the_rules_forbid() {
    check(150, &cases(), |case| {
        for tool in case.scope.tools() {
            for kind in ALL_RULES {
                let forbidden = case.forbidden(kind, &tool.spec);
                let approved = decide_approved(tool.spec.name.as_str(), &case.facts(kind));
                let decision = case.decide(kind, &tool.spec.name);
                if forbidden {
                    prop_assert_eq!(strictness(&decision), 2, "{}: {:?}", tool.spec.name, decision);
                    prop_assert_eq!(strictness(&approved), 2, "{} approved", tool.spec.name);
                }
                let runnable = case.runnable().any(|other| other.name == tool.spec.name);
                let runs = strictness(&approved) == 0;
                prop_assert_eq!(runs, runnable && !forbidden, "{}", tool.spec.name);
            }
        }
        Ok(())
    });
}

/// Z10: once the turn has read content from outside, a destructive call runs only
/// with an approval, and only if it is not forbidden anyway.
#[test]
fn z10_after_untrusted_content_a_destructive_call_asks() {
    check(150, &cases(), |case| {
        let case = Case { trust: Trust::Untrusted, ..case };
        let destructive =
            |tool: &&ToolSpec| tool.role == ToolRole::Ordinary && tool.risk == Risk::Destructive;
        for tool in case.runnable().filter(destructive) {
            for kind in ALL_RULES {
                let decision = case.decide(kind, &tool.name);
                let stopped = matches!(
                    decision,
                    GateDecision::Ask(AskReason::Untrusted) | GateDecision::Deny(_)
                );
                prop_assert!(stopped, "{}: {:?}", tool.name, decision);
                let approved = decide_approved(tool.name.as_str(), &case.facts(kind));
                let may = !case.forbidden(kind, tool);
                prop_assert_eq!(matches!(decision, GateDecision::Ask(_)), may, "{}", tool.name);
                prop_assert_eq!(strictness(&approved) == 0, may, "{} approved", tool.name);
            }
        }
        Ok(())
    });
}

/// S16, Z10: once a turn of a conversation has read content from outside, it changes nothing
/// outside of the conversation without a person.
#[test]
fn s16_after_untrusted_content_nothing_acts_outside_unasked() {
    check(150, &cases(), |case| {
        let case = Case { trust: Trust::Untrusted, ..case };
        let acts = |tool: &&ToolSpec| {
            tool.role == ToolRole::Ordinary && tool.risk != Risk::Read && tool.acts_outside()
        };
        for tool in case.scope.active().filter(acts) {
            for kind in [RulesKind::Conversation, RulesKind::Both] {
                let decision = case.decide(kind, &tool.name);
                prop_assert!(strictness(&decision) > 0, "{}: {:?}", tool.name, decision);
            }
        }
        Ok(())
    });
}

/// Z10: content from outside never makes the gate laxer.
#[test]
fn z10_untrusted_content_never_makes_the_gate_laxer() {
    check(100, &cases(), |case| {
        let trusting = Case { trust: Trust::Trusted, ..case.clone() };
        let untrusting = Case { trust: Trust::Untrusted, ..case };
        for tool in trusting.scope.active() {
            for kind in ALL_RULES {
                let before = trusting.decide(kind, &tool.name);
                let after = untrusting.decide(kind, &tool.name);
                let tighter = strictness(&after) >= strictness(&before);
                prop_assert!(tighter, "{}: {:?} became {:?}", tool.name, before, after);
            }
        }
        Ok(())
    });
}

/// D01, D02, D04: no call becomes easier from autonomous to semi-autonomous to
/// supervised.
#[test]
fn d01_less_autonomy_never_allows_more() {
    use AutonomyLevel::{Autonomous, SemiAutonomous, Supervised};
    check(100, &cases(), |case| {
        let at = |level| Case { level, ..case.clone() };
        let levels = [Autonomous, SemiAutonomous, Supervised].map(at);
        for tool in case.scope.tools() {
            for kind in [RulesKind::Conversation, RulesKind::Both] {
                let strictnesses =
                    levels.each_ref().map(|case| strictness(&case.decide(kind, &tool.spec.name)));
                prop_assert!(strictnesses.is_sorted(), "{}: {:?}", tool.spec.name, strictnesses);
            }
        }
        Ok(())
    });
}

/// D03: a draft-only agent runs only tools that read.
#[test]
fn d03_a_draft_only_agent_runs_only_tools_that_read() {
    check(100, &cases(), |case| {
        let case = Case { level: AutonomyLevel::DraftOnly, ..case };
        for tool in case.scope.active().filter(|tool| tool.role == ToolRole::Ordinary) {
            for kind in [RulesKind::Conversation, RulesKind::Both] {
                let runs = strictness(&case.decide(kind, &tool.name)) == 0;
                prop_assert!(!runs || tool.risk == Risk::Read, "{}", tool.name);
            }
        }
        Ok(())
    });
}

/// M12: where autonomy and permissions both apply, the decision is the stricter of
/// the two, with its reason.
#[test]
fn m12_with_both_rules_the_stricter_decision_counts() {
    check(150, &cases(), |case| {
        for tool in case.scope.tools() {
            let [conversation, interactive, both] =
                ALL_RULES.map(|kind| case.decide(kind, &tool.spec.name));
            let strictest = strictness(&conversation).max(strictness(&interactive));
            prop_assert_eq!(strictness(&both), strictest, "{}", tool.spec.name);
            prop_assert!(both == conversation || both == interactive, "{:?}", both);
        }
        Ok(())
    });
}

/// D01, D02: a tool on the approval list never runs without approval, at any level
/// and under any permission; control tools in scope never need one, not even after
/// failures or without credits.
#[test]
fn d02_a_tool_on_the_approval_list_never_runs_without_approval() {
    check(150, &cases(), |case| {
        for tool in case.runnable() {
            for kind in ALL_RULES {
                let decision = case.decide(kind, &tool.name);
                if tool.role == ToolRole::Control {
                    prop_assert_eq!(strictness(&decision), 0, "{}: {:?}", tool.name, decision);
                } else if case.approval_list.contains(&tool.name) {
                    prop_assert!(strictness(&decision) > 0, "{}: {:?}", tool.name, decision);
                }
            }
        }
        Ok(())
    });
}

/// D02, M12: the approval list never turns a refusal into a question.
#[test]
fn d02_the_approval_list_never_makes_the_gate_laxer() {
    check(100, &cases(), |case| {
        let without = Case { approval_list: BTreeSet::new(), ..case.clone() };
        for tool in case.scope.active() {
            for kind in ALL_RULES {
                let before = without.decide(kind, &tool.name);
                let after = case.decide(kind, &tool.name);
                let tighter = strictness(&after) >= strictness(&before);
                prop_assert!(tighter, "{}: {:?} became {:?}", tool.name, before, after);
            }
        }
        Ok(())
    });
}

/// M11: the permission chain, written a second time as layers from the weakest to
/// the strongest.
#[test]
fn m11_the_permission_chain_has_its_order() {
    check(150, &cases(), |case| {
        let tools: Vec<&ToolSpec> = case.scope.tools().iter().map(|tool| &tool.spec).collect();
        let mut policy: BTreeMap<&ToolName, PermissionPolicy> = BTreeMap::new();
        for tool in tools {
            policy.insert(&tool.name, PermissionPolicy::Ask);
            if let Some(&of_category) = case.rules.categories.get(&tool.category) {
                policy.insert(&tool.name, of_category);
            }
            let granted = case.grants.categories.contains(&tool.category)
                || case.grants.tools.contains(&tool.name);
            if granted {
                policy.insert(&tool.name, PermissionPolicy::Allow);
            }
        }
        policy.extend(case.rules.tools.iter().map(|(name, &of_tool)| (name, of_tool)));
        let facts = PermissionFacts { yolo: case.yolo, rules: &case.rules, grants: &case.grants };
        for tool in case.scope.tools() {
            let (found, _) = facts.resolve(query(&tool.spec));
            let expected =
                if case.yolo { PermissionPolicy::Allow } else { policy[&tool.spec.name] };
            prop_assert_eq!(found, expected, "{}", tool.spec.name);
        }
        Ok(())
    });
}
