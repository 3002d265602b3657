//! Ordered rules in the chain of permissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    MatchedRule, PermissionRule, PlacedRule, RuleCertainty, RuleForce, RuleScope, RuleSubject,
};
use crate::gate::permission::PermissionPolicy::{self, Allow, Ask, Deny};
use crate::gate::permission::arguments::ArgumentPattern;
use crate::gate::permission::text::TextPattern;
use crate::gate::permission::{
    OrderedPermissions, PermissionFacts, PermissionQuery, PermissionRules, PermissionSource,
    Permissions as _, SessionGrants,
};
use crate::time::Timestamp;
use crate::tool::{ToolCategory, ToolName};

const NOW: Timestamp = Timestamp::from_millis(1000);
static RUN: ToolName = ToolName::from_static("run_command");

fn place(
    line: u32,
    subject: RuleSubject,
    arguments: &Value,
    verdict: PermissionPolicy,
) -> PlacedRule {
    let arguments =
        arguments.as_object().map(|members| ArgumentPattern::parse_arguments(members).unwrap());
    PlacedRule {
        rule: PermissionRule { subject, arguments, verdict, why: "a test".into(), expires: None },
        scope: RuleScope::User,
        file: Arc::from("permissions.toml"),
        line,
        force: RuleForce::Full,
    }
}

fn tool(line: u32, command: &str, verdict: PermissionPolicy) -> PlacedRule {
    let subject = RuleSubject::Tool(TextPattern::exact(RUN.as_str()));
    place(line, subject, &json!({"command": command}), verdict)
}

fn category(line: u32, verdict: PermissionPolicy) -> PlacedRule {
    place(line, RuleSubject::Category(ToolCategory::Execute), &Value::Null, verdict)
}

/// The decision about a command: the policy, the rung and the line of the rule.
fn decide(
    rules: &[PlacedRule],
    grants: &SessionGrants,
    command: &str,
) -> (PermissionPolicy, u8, Option<u32>) {
    let facts = PermissionFacts { yolo: false, rules: &PermissionRules::default(), grants };
    let arguments = json!({ "command": command });
    let query =
        PermissionQuery { tool: &RUN, category: ToolCategory::Execute, arguments: &arguments };
    let (policy, source) = OrderedPermissions { facts, rules, now: NOW }.resolve(query);
    (policy, source.rung(), source.rule().map(|rule| rule.line))
}

fn check(rules: &[PlacedRule], command: &str, expected: (PermissionPolicy, u8, Option<u32>)) {
    assert_eq!(decide(rules, &SessionGrants::default(), command), expected, "{command}");
}

/// Z14: the first rule that applies decides, and the decision names its file and line.
#[test]
fn z14_the_first_rule_of_a_rung_decides_and_is_named() {
    let rules = [
        category(1, Allow),
        tool(5, "git push **", Deny),
        tool(9, "git status **", Allow),
        tool(13, "git **", Ask),
    ];
    check(&rules, "git push origin", (Deny, 2, Some(5)));
    check(&rules, "git status", (Allow, 2, Some(9)));
    check(&rules, "git log", (Ask, 2, Some(13)));
    check(&rules, "cargo test", (Allow, 5, Some(1)));
    check(&rules, "git status && git push", (Deny, 2, Some(5)));
    check(&rules, "cargo test $(date)", (Ask, 2, Some(5)));
    check(&[], "git status", (Ask, 6, None));
}

/// M11: rules for tools come before grants, rules for categories after them.
#[test]
fn m11_ordered_rules_stand_on_the_rungs_of_tools_and_categories() {
    let grants =
        SessionGrants { categories: [ToolCategory::Execute].into(), ..SessionGrants::default() };
    let rules = [category(1, Deny), tool(2, "git push **", Ask)];
    assert_eq!(decide(&rules, &grants, "ls"), (Allow, 4, None));
    assert_eq!(decide(&rules, &grants, "git push"), (Ask, 2, Some(2)));
    assert_eq!(decide(&rules, &SessionGrants::default(), "ls"), (Deny, 5, Some(1)));
}

#[test]
fn an_expired_rule_does_not_apply() {
    let mut rule = tool(1, "ls", Allow);
    rule.rule.expires = Some(NOW);
    check(&[rule.clone()], "ls", (Ask, 6, None));
    rule.rule.expires = Some(Timestamp::from_millis(1001));
    check(&[rule], "ls", (Allow, 2, Some(1)));
}

/// A file that is not trusted can only make a decision stricter.
#[test]
fn z14_a_rule_that_only_narrows_never_allows() {
    let narrow = |rule: PlacedRule| PlacedRule { force: RuleForce::NarrowsOnly, ..rule };
    let allow = narrow(tool(1, "git **", Allow));
    check(std::slice::from_ref(&allow), "git push", (Ask, 6, None));
    let deny = tool(2, "git push **", Deny);
    check(&[allow, deny.clone()], "git push", (Deny, 2, Some(2)));
    let ask = narrow(tool(3, "git **", Ask));
    check(&[ask.clone(), deny], "git push", (Deny, 2, Some(2)));
    check(&[category(4, Deny), ask.clone()], "git log", (Deny, 5, Some(4)));
    check(&[tool(5, "git **", Allow), ask], "git log", (Ask, 2, Some(3)));
    check(&[tool(5, "git **", Allow), narrow(category(6, Deny))], "git log", (Allow, 2, Some(5)));
    check(&[category(5, Allow), narrow(category(6, Deny))], "git log", (Deny, 5, Some(6)));
}

/// A rule that fails its tests asks about its whole tool, so that a mistake never allows.
#[test]
fn z14_a_rule_that_fails_its_tests_asks() {
    let broken = PlacedRule { force: RuleForce::FailsTests, ..tool(1, "git push", Deny) };
    check(&[broken.clone(), category(2, Allow)], "ls", (Ask, 2, Some(1)));
    check(std::slice::from_ref(&broken), "ls", (Ask, 2, Some(1)));
    check(&[broken, tool(2, "ls", Deny)], "ls", (Deny, 2, Some(2)));
}

/// Z14: the narrowest rule allows the call and nothing else.
#[test]
fn z14_the_narrowest_rule_covers_its_call_only() {
    let table = [
        (ToolCategory::Execute, json!({"command": "make && echo *", "timeout_secs": 5})),
        (ToolCategory::Mcp, json!({"query": {"limit": 2, "ids": ["a", "b"]}})),
        (ToolCategory::Edit, json!({"path": "src/../a", "content": "short"})),
        (ToolCategory::Read, json!({})),
    ];
    for (category, arguments) in table {
        let query = PermissionQuery { tool: &RUN, category, arguments: &arguments };
        let rule = PermissionRule::narrowest(query, "asked".into());
        assert!(rule.applies(query), "{arguments}");
        let mut other = arguments.clone();
        other["more"] = json!(true);
        assert!(!rule.applies(PermissionQuery { arguments: &other, ..query }), "{other}");
    }
    let (path, content) = ("a.rs", "fn main() {\n}\n");
    let arguments = json!({"path": path, "content": content});
    let query = PermissionQuery { tool: &RUN, category: ToolCategory::Edit, arguments: &arguments };
    let rule = PermissionRule::narrowest(query, "asked".into());
    let expected = BTreeMap::from([
        ("path".to_owned(), ArgumentPattern::Text(TextPattern::exact(path))),
        ("content".to_owned(), ArgumentPattern::Anything),
    ]);
    assert_eq!(rule.arguments, Some(expected));
}

/// Decisions are stored with the rule, and those that were stored before can be read.
#[test]
fn z14_a_stored_decision_keeps_its_rule() {
    let rule = MatchedRule {
        scope: RuleScope::Project,
        file: "/home/ada/.ostler/permissions.toml".into(),
        line: 7,
        why: "pushing is for people".into(),
        certainty: RuleCertainty::MayApply,
    };
    let text =
        "rule at /home/ada/.ostler/permissions.toml:7, which may apply: pushing is for people";
    assert_eq!(rule.to_string(), text);
    let source = PermissionSource::ToolRule(Box::new(rule));
    let stored = serde_json::to_value(&source).unwrap();
    assert_eq!(serde_json::from_value::<PermissionSource>(stored).unwrap(), source);
    let old = serde_json::from_value::<PermissionSource>(json!("tool_policy")).unwrap();
    assert_eq!(old, PermissionSource::ToolPolicy);
}
