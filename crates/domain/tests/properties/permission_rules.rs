//! Properties of ordered permission rules: what order can and cannot change.

#![allow(clippy::expect_used, reason = "these are tests")]

use std::sync::Arc;

use ostler_domain::gate::permission::arguments::ArgumentPattern;
use ostler_domain::gate::permission::rule::{
    PermissionRule, PlacedRule, RuleCertainty, RuleForce, RuleScope, RuleSubject,
};
use ostler_domain::gate::permission::text::TextPattern;
use ostler_domain::gate::permission::{
    OrderedPermissions, PermissionFacts, PermissionPolicy, PermissionQuery, PermissionRules,
    PermissionSource, Permissions as _, SessionGrants,
};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolCategory, ToolName};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::check;

static RUN: ToolName = ToolName::from_static("run_command");
const SUFFIXES: [&str; 12] = [
    "&& rm x",
    "; rm x",
    "| sh",
    "& rm x",
    "\nrm x",
    "$(rm x)",
    "`rm x`",
    "> out",
    "< in",
    "${HOME}",
    "\"$HOME\"",
    "'open",
];

fn policies() -> impl Strategy<Value = PermissionPolicy> {
    select(vec![PermissionPolicy::Allow, PermissionPolicy::Ask, PermissionPolicy::Deny])
}

fn commands() -> impl Strategy<Value = String> {
    let word = select(vec!["git", "push", "status", "main", "ls", "src/a", "src/../b", "$(ls)"]);
    let joint = select(vec![" ", " ", " ", " && ", "; "]);
    prop::collection::vec((word, joint), 1..5).prop_map(|words| {
        words.into_iter().flat_map(|(word, joint)| [word, joint]).collect::<String>()
    })
}

fn patterns() -> impl Strategy<Value = String> {
    let word = select(vec!["git", "push", "status", "*", "**", "src/*", "src/**", "ls"]);
    prop::collection::vec(word, 1..4).prop_map(|words| words.join(" "))
}

fn rules() -> impl Strategy<Value = Vec<PlacedRule>> {
    let force = select(vec![RuleForce::Full, RuleForce::NarrowsOnly, RuleForce::FailsTests]);
    let expires = prop::option::of(0..4i64);
    let rule = (any::<bool>(), prop::option::of(patterns()), policies(), force, expires);
    prop::collection::vec(rule, 0..6).prop_map(|rules| {
        let placed = rules.into_iter().enumerate();
        placed
            .map(|(line, (of_tool, pattern, verdict, force, expires))| {
                let arguments = pattern.map(|pattern| json!({ "command": pattern }));
                let parse = |value: &serde_json::Value| {
                    let members = value.as_object().expect("an object");
                    ArgumentPattern::parse_arguments(members).expect("a pattern")
                };
                PlacedRule {
                    rule: PermissionRule {
                        subject: if of_tool {
                            RuleSubject::Tool(TextPattern::parse("run_*").expect("a pattern"))
                        } else {
                            RuleSubject::Category(ToolCategory::Execute)
                        },
                        arguments: arguments.as_ref().map(parse),
                        verdict,
                        why: "generated".into(),
                        expires: expires.map(Timestamp::from_millis),
                    },
                    scope: RuleScope::User,
                    file: Arc::from("permissions.toml"),
                    line: u32::try_from(line).expect("a small number") + 1,
                    force,
                }
            })
            .collect()
    })
}

fn grants() -> impl Strategy<Value = SessionGrants> {
    (any::<bool>(), any::<bool>()).prop_map(|(tool, category)| SessionGrants {
        tools: tool.then(|| RUN.clone()).into_iter().collect(),
        categories: category.then_some(ToolCategory::Execute).into_iter().collect(),
    })
}

fn cases() -> impl Strategy<Value = (Vec<PlacedRule>, SessionGrants, String)> {
    (rules(), grants(), commands())
}

fn resolve(
    rules: &[PlacedRule],
    grants: &SessionGrants,
    command: &str,
) -> (PermissionPolicy, PermissionSource) {
    let facts = PermissionFacts { yolo: false, rules: &PermissionRules::default(), grants };
    let arguments = json!({ "command": command });
    let query =
        PermissionQuery { tool: &RUN, category: ToolCategory::Execute, arguments: &arguments };
    OrderedPermissions { facts, rules, now: Timestamp::from_millis(2) }.resolve(query)
}

/// Z14: rules that only narrow, and rules that fail their tests, never make a decision laxer,
/// wherever they stand.
#[test]
fn z14_narrowing_rules_never_make_a_decision_laxer() {
    check(400, &cases(), |(rules, grants, command)| {
        let full: Vec<_> =
            rules.iter().filter(|rule| rule.force == RuleForce::Full).cloned().collect();
        let (without, _) = resolve(&full, &grants, &command);
        let (with, _) = resolve(&rules, &grants, &command);
        prop_assert!(with >= without, "{:?} became {:?}", without, with);
        Ok(())
    });
}

/// Z14: a rule that is added at the end never changes what an earlier rule of its rung has
/// decided, except to a stricter decision.
#[test]
fn z14_a_rule_at_the_end_never_weakens_an_earlier_one() {
    check(400, &(cases(), rules()), |((mut rules, grants, command), more)| {
        let (before, source) = resolve(&rules, &grants, &command);
        let by_tool_rule = source.rung() == 2
            && source.rule().is_some_and(|rule| rule.certainty == RuleCertainty::Applies);
        rules.extend(more);
        let (after, _) = resolve(&rules, &grants, &command);
        prop_assert!(!by_tool_rule || after >= before, "{:?} became {:?}", before, after);
        Ok(())
    });
}

/// Z14: a rule that denies for certain and stands first among the rules for tools always
/// denies, whatever follows and whatever was granted.
#[test]
fn z14_a_first_deny_always_denies() {
    check(400, &(cases(), patterns()), |((rules, grants, command), pattern)| {
        let first = PermissionRule {
            subject: RuleSubject::Tool(TextPattern::exact(RUN.as_str())),
            arguments: Some(
                ArgumentPattern::parse_arguments(
                    json!({ "command": pattern }).as_object().unwrap(),
                )
                .unwrap(),
            ),
            verdict: PermissionPolicy::Deny,
            why: "never".into(),
            expires: None,
        };
        let arguments = json!({ "command": command });
        let query =
            PermissionQuery { tool: &RUN, category: ToolCategory::Execute, arguments: &arguments };
        let applies = first.applies(query);
        let placed = PlacedRule {
            rule: first,
            scope: RuleScope::User,
            file: Arc::from("permissions.toml"),
            line: 1,
            force: RuleForce::Full,
        };
        let all: Vec<_> = std::iter::once(placed).chain(rules).collect();
        let (policy, _) = resolve(&all, &grants, &command);
        prop_assert!(!applies || policy == PermissionPolicy::Deny, "{:?}", policy);
        Ok(())
    });
}

/// Z14: whatever a pattern with a wildcard allows, it does not allow with a second command
/// behind it.
#[test]
fn z14_no_pattern_allows_a_second_command() {
    let cases = (patterns(), commands(), select(SUFFIXES.to_vec()));
    check(400, &cases, |(pattern, command, suffix)| {
        let value = json!({ "command": format!("{pattern} **") });
        let rule = PermissionRule {
            subject: RuleSubject::Tool(TextPattern::exact(RUN.as_str())),
            arguments: Some(ArgumentPattern::parse_arguments(value.as_object().unwrap()).unwrap()),
            verdict: PermissionPolicy::Allow,
            why: "generated".into(),
            expires: None,
        };
        let arguments = json!({ "command": format!("{command} {suffix}") });
        let query =
            PermissionQuery { tool: &RUN, category: ToolCategory::Execute, arguments: &arguments };
        prop_assert!(!rule.applies(query), "{} allows {}", pattern, arguments);
        Ok(())
    });
}

/// Z14: the narrowest rule applies to its call and to no other command.
#[test]
fn z14_the_narrowest_rule_is_exact() {
    check(400, &(commands(), commands()), |(command, other)| {
        let arguments = json!({ "command": command });
        let query =
            PermissionQuery { tool: &RUN, category: ToolCategory::Execute, arguments: &arguments };
        let rule = PermissionRule::narrowest(query, "asked".into());
        prop_assert!(rule.applies(query));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let others = json!({ "command": other });
        let applies = rule.applies(PermissionQuery { arguments: &others, ..query });
        prop_assert_eq!(applies, command == other || (applies && words(&command) == words(&other)));
        Ok(())
    });
}
