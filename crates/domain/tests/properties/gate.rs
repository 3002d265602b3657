//! The gate: no facts lead around the scope, the budget or a person.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::permission::{
    PermissionFacts, PermissionPolicy, PermissionRules, SessionGrants,
};
use ostler_domain::gate::{
    AskReason, Authority, DenyReason, GateFacts, Verdict, decide, decide_approved,
};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Category, Risk, ToolName, ToolRole, ToolSpec, Trust};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::check;
use crate::world::{autonomy_levels, some_of, worlds};

/// Everything the gate looks at. Three authorities are made of the same
/// level, rules and grants.
#[derive(Debug, Clone)]
struct Case {
    scope: ToolScope,
    errors: ErrorState,
    budget: TurnBudget,
    trust: Trust,
    list: BTreeSet<ToolName>,
    level: AutonomyLevel,
    yolo: bool,
    rules: PermissionRules,
    grants: SessionGrants,
}

#[derive(Debug, Clone, Copy)]
enum Who {
    Conversation,
    Interactive,
    Both,
}

const EVERYBODY: [Who; 3] = [Who::Conversation, Who::Interactive, Who::Both];

impl Case {
    fn facts(&self, who: Who) -> GateFacts<'_> {
        let permissions =
            PermissionFacts { yolo: self.yolo, rules: &self.rules, grants: &self.grants };
        GateFacts {
            scope: &self.scope,
            errors: &self.errors,
            budget: &self.budget,
            trust: self.trust,
            require_approval_for: &self.list,
            authority: match who {
                Who::Conversation => Authority::Conversation(self.level),
                Who::Interactive => Authority::Interactive(permissions),
                Who::Both => Authority::Both(self.level, permissions),
            },
        }
    }

    fn decide(&self, who: Who, tool: &ToolName) -> Verdict {
        decide(tool.as_str(), &self.facts(who))
    }

    fn affords(&self, tool: &ToolSpec) -> bool {
        let TurnBudget { reserved, top_up, session, team, .. } = self.budget;
        tool.role == ToolRole::Control
            || (tool.price.get() <= reserved.get() + top_up.get()
                && tool.price <= session
                && team.is_none_or(|left| tool.price <= left))
    }

    fn failed(&self, tool: &ToolSpec) -> bool {
        tool.role == ToolRole::Ordinary && self.errors.disabled().contains_key(&tool.name)
    }

    /// Whether the session has only reading left, and this is something else.
    fn too_late(&self, tool: &ToolSpec) -> bool {
        let changes = tool.role == ToolRole::Ordinary && tool.risk != Risk::Read;
        changes && self.budget.session <= self.budget.kept_for_reading
    }

    /// The tools in scope that have not failed too often.
    fn working(&self) -> impl Iterator<Item = &ToolSpec> {
        self.scope.active().filter(|tool| !self.failed(tool))
    }

    /// Those of them that can be paid for, by a session that allows them.
    fn runnable(&self) -> impl Iterator<Item = &ToolSpec> {
        self.working().filter(|tool| self.affords(tool) && !self.too_late(tool))
    }

    /// Whether autonomy or permissions, each by itself, forbid this tool.
    fn forbidden(&self, who: Who, tool: &ToolSpec) -> bool {
        let drafts = self.level == AutonomyLevel::DraftOnly && tool.risk != Risk::Read;
        let facts = PermissionFacts { yolo: self.yolo, rules: &self.rules, grants: &self.grants };
        let denied = facts.resolve(&tool.name, tool.category).0 == PermissionPolicy::Deny;
        tool.role == ToolRole::Ordinary
            && match who {
                Who::Conversation => drafts,
                Who::Interactive => denied,
                Who::Both => drafts || denied,
            }
    }
}

fn budgets() -> impl Strategy<Value = TurnBudget> {
    let kept = prop_oneof![2 => Just(0), 1 => 0..6u64];
    (0..4u64, 0..4u64, 0..6u64, kept, prop::option::of(0..6u64)).prop_map(
        |(reserved, top_up, session, kept, team)| TurnBudget {
            reserved: Credits::new(reserved),
            top_up: Credits::new(top_up),
            session: Credits::new(session),
            kept_for_reading: Credits::new(kept),
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
    worlds().prop_flat_map(|world| {
        let names: Vec<ToolName> = world.catalogue.iter().map(|tool| tool.name.clone()).collect();
        let policy =
            || select(vec![PermissionPolicy::Allow, PermissionPolicy::Ask, PermissionPolicy::Deny]);
        let category =
            [Category::Read, Category::Edit, Category::Execute, Category::Mcp, Category::Other];
        let rules = (
            prop::collection::btree_map(select(names.clone()), policy(), 0..8),
            prop::collection::btree_map(select(category.to_vec()), policy(), 0..5),
        );
        let grants = (some_of(&names, 8), subsequence(category.to_vec(), 0..=5));
        let trust = select(vec![Trust::Trusted, Trust::Untrusted]);
        let conversation = (some_of(&names, 8), autonomy_levels());
        let interactive = (any::<bool>(), rules, grants);
        let scope = world.scope();
        (budgets(), failures(&names), trust, conversation, interactive).prop_map(
            move |(budget, errors, trust, (list, level), (yolo, rules, grants))| Case {
                scope: scope.clone(),
                errors,
                budget,
                trust,
                list,
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

/// From lax to strict.
fn strictness(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Allow(_) => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny(_) => 2,
    }
}

/// B10, D09, M14, Z02: outside the scope nothing runs: not with yolo, not with
/// grants or rules, not autonomously, not approved.
#[test]
fn m14_z02_nothing_outside_the_scope_ever_runs() {
    check(150, &cases(), |case| {
        let unheard = ToolName::from_static("delete_everything");
        let tools = case.scope.tools().iter();
        let outside = tools.filter(|tool| tool.removed.is_some()).map(|tool| &tool.spec.name);
        for tool in outside.chain([&unheard]) {
            for who in EVERYBODY {
                let decided = case.decide(who, tool);
                let refused = matches!(
                    decided,
                    Verdict::Deny(
                        DenyReason::OutOfScope(_)
                            | DenyReason::Disabled { .. }
                            | DenyReason::UnknownTool
                    )
                );
                prop_assert!(refused, "{}: {:?}", tool, decided);
                let approved = decide_approved(tool.as_str(), &case.facts(who));
                prop_assert_eq!(approved, decided, "{} approved", tool);
            }
        }
        Ok(())
    });
}

/// C07, D09: what runs can be paid for under every limit, what the org could
/// still add included; what cannot is refused for that reason, approved or not.
#[test]
fn c07_what_runs_can_be_paid_for() {
    check(150, &cases(), |case| {
        for tool in case.working() {
            for who in EVERYBODY {
                let approved = decide_approved(tool.name.as_str(), &case.facts(who));
                for verdict in [case.decide(who, &tool.name), approved] {
                    let over = matches!(verdict, Verdict::Deny(DenyReason::OverBudget(_)));
                    prop_assert_eq!(over, !case.affords(tool), "{}: {:?}", tool.name, verdict);
                }
            }
        }
        Ok(())
    });
}

/// E08: when a session has only reading left, what can be paid for and does not
/// read is refused for that reason, approved or not, and nothing else is.
#[test]
fn e08_a_session_near_its_cap_runs_only_what_reads() {
    check(150, &cases(), |case| {
        for tool in case.working().filter(|tool| case.affords(tool)) {
            for who in EVERYBODY {
                let approved = decide_approved(tool.name.as_str(), &case.facts(who));
                for verdict in [case.decide(who, &tool.name), approved] {
                    let refused = verdict == Verdict::Deny(DenyReason::SessionReadOnly);
                    prop_assert_eq!(refused, case.too_late(tool), "{}: {:?}", tool.name, verdict);
                }
            }
        }
        Ok(())
    });
}

/// C08, C09: an ordinary tool that has failed too often by now never runs,
/// although the scope that the model was offered still has it, and no approval
/// changes that.
#[test]
fn c08_what_has_failed_too_often_never_runs() {
    check(150, &cases(), |case| {
        for tool in case.scope.active().filter(|tool| case.failed(tool)) {
            for who in EVERYBODY {
                let approved = decide_approved(tool.name.as_str(), &case.facts(who));
                let off = Verdict::Deny(DenyReason::Disabled { failures: 3 });
                prop_assert_eq!(case.decide(who, &tool.name), off.clone(), "{}", tool.name);
                prop_assert_eq!(approved, off, "{} approved", tool.name);
            }
        }
        Ok(())
    });
}

/// D03, D09, M12: what autonomy or permissions forbid is refused, nobody is
/// asked about it, and no approval runs it; an approval runs everything else
/// that is in scope, works and can be paid for.
#[test]
fn d09_no_approval_runs_what_the_authority_forbids() {
    check(150, &cases(), |case| {
        for tool in case.scope.tools() {
            for who in EVERYBODY {
                let forbidden = case.forbidden(who, &tool.spec);
                let approved = decide_approved(tool.spec.name.as_str(), &case.facts(who));
                let verdict = case.decide(who, &tool.spec.name);
                if forbidden {
                    prop_assert_eq!(strictness(&verdict), 2, "{}: {:?}", tool.spec.name, verdict);
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

/// Z10: once the turn has read from outside, a destructive call does not run,
/// whatever else is said; only a person's approval runs it, and that only what
/// is not forbidden anyway.
#[test]
fn z10_after_untrusted_content_a_destructive_call_asks() {
    check(150, &cases(), |case| {
        let case = Case { trust: Trust::Untrusted, ..case };
        let destructive =
            |tool: &&ToolSpec| tool.role == ToolRole::Ordinary && tool.risk == Risk::Destructive;
        for tool in case.runnable().filter(destructive) {
            for who in EVERYBODY {
                let verdict = case.decide(who, &tool.name);
                let stopped =
                    matches!(verdict, Verdict::Ask(AskReason::Untrusted) | Verdict::Deny(_));
                prop_assert!(stopped, "{}: {:?}", tool.name, verdict);
                let approved = decide_approved(tool.name.as_str(), &case.facts(who));
                let may = !case.forbidden(who, tool);
                prop_assert_eq!(matches!(verdict, Verdict::Ask(_)), may, "{}", tool.name);
                prop_assert_eq!(strictness(&approved) == 0, may, "{} approved", tool.name);
            }
        }
        Ok(())
    });
}

/// Z10: content from outside never makes the gate laxer.
#[test]
fn z10_distrust_only_tightens() {
    check(100, &cases(), |case| {
        let trusting = Case { trust: Trust::Trusted, ..case.clone() };
        let wary = Case { trust: Trust::Untrusted, ..case };
        for tool in trusting.scope.active() {
            for who in EVERYBODY {
                let before = trusting.decide(who, &tool.name);
                let after = wary.decide(who, &tool.name);
                let tighter = strictness(&after) >= strictness(&before);
                prop_assert!(tighter, "{}: {:?} became {:?}", tool.name, before, after);
            }
        }
        Ok(())
    });
}

/// D01, D02, D04: from autonomous over semi-autonomous to supervised, no call
/// becomes easier.
#[test]
fn d01_less_autonomy_never_allows_more() {
    use AutonomyLevel::{Autonomous, SemiAutonomous, Supervised};
    check(100, &cases(), |case| {
        let at = |level| Case { level, ..case.clone() };
        let levels = [Autonomous, SemiAutonomous, Supervised].map(at);
        for tool in case.scope.tools() {
            for who in [Who::Conversation, Who::Both] {
                let path =
                    levels.each_ref().map(|case| strictness(&case.decide(who, &tool.spec.name)));
                prop_assert!(path.is_sorted(), "{}: {:?}", tool.spec.name, path);
            }
        }
        Ok(())
    });
}

/// D03: an agent that drafts runs nothing that changes something.
#[test]
fn d03_a_drafting_agent_only_reads() {
    check(100, &cases(), |case| {
        let case = Case { level: AutonomyLevel::DraftOnly, ..case };
        for tool in case.scope.active().filter(|tool| tool.role == ToolRole::Ordinary) {
            for who in [Who::Conversation, Who::Both] {
                let runs = strictness(&case.decide(who, &tool.name)) == 0;
                prop_assert!(!runs || tool.risk == Risk::Read, "{}", tool.name);
            }
        }
        Ok(())
    });
}

/// M12: where autonomy and permissions both apply, the verdict is the stricter
/// of the two, with its reason.
#[test]
fn m12_two_authorities_are_as_strict_as_the_stricter() {
    check(150, &cases(), |case| {
        for tool in case.scope.tools() {
            let [conversation, interactive, both] =
                EVERYBODY.map(|who| case.decide(who, &tool.spec.name));
            let strictest = strictness(&conversation).max(strictness(&interactive));
            prop_assert_eq!(strictness(&both), strictest, "{}", tool.spec.name);
            prop_assert!(both == conversation || both == interactive, "{:?}", both);
        }
        Ok(())
    });
}

/// D01, D02: a tool on the approval list runs at no level and under no
/// permission without a person; control tools in scope never wait, not even
/// after failures or without credits.
#[test]
fn d02_the_approval_list_never_just_runs() {
    check(150, &cases(), |case| {
        for tool in case.runnable() {
            for who in EVERYBODY {
                let verdict = case.decide(who, &tool.name);
                if tool.role == ToolRole::Control {
                    prop_assert_eq!(strictness(&verdict), 0, "{}: {:?}", tool.name, verdict);
                } else if case.list.contains(&tool.name) {
                    prop_assert!(strictness(&verdict) > 0, "{}: {:?}", tool.name, verdict);
                }
            }
        }
        Ok(())
    });
}

/// D02, M12: putting a tool on the approval list never turns a refusal into a
/// question.
#[test]
fn d02_the_approval_list_only_tightens() {
    check(100, &cases(), |case| {
        let without = Case { list: BTreeSet::new(), ..case.clone() };
        for tool in case.scope.active() {
            for who in EVERYBODY {
                let before = without.decide(who, &tool.name);
                let after = case.decide(who, &tool.name);
                let tighter = strictness(&after) >= strictness(&before);
                prop_assert!(tighter, "{}: {:?} became {:?}", tool.name, before, after);
            }
        }
        Ok(())
    });
}

/// M11: the chain of an interactive harness, written down a second time as
/// layers that are laid over each other from the weakest to the strongest.
#[test]
fn m11_the_chain_has_its_order() {
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
            let (found, _) = facts.resolve(&tool.spec.name, tool.spec.category);
            let expected =
                if case.yolo { PermissionPolicy::Allow } else { policy[&tool.spec.name] };
            prop_assert_eq!(found, expected, "{}", tool.spec.name);
        }
        Ok(())
    });
}
