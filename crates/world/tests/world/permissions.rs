//! Permissions files: what is accepted, what is refused and where, and edits.

use ostler_domain::gate::permission::rule::{PermissionRule, RuleSubject};
use ostler_domain::gate::permission::text::TextPattern;
use ostler_domain::gate::permission::{PermissionPolicy, PermissionQuery};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolCategory, ToolName};
use ostler_world::permissions::{
    PermissionFile, TrustedProject, insert_rule, parse_expiry, parse_permissions,
    permissions_schema, render_rule, set_trust,
};
use serde_json::json;

const FILE: &str = r#"# What my agents may do.

# Reading the state of a repository changes nothing.
[[rule]]
tool = "run_command"
arguments = { command = "git status **" }
verdict = "allow"
why = "reads only"
expires = 2027-01-31
tests = [
  { arguments = { command = "git status --short" }, applies = true },
  { arguments = { command = "git status && git push" }, applies = false },
]

[[rule]]
category = "mcp"
verdict = "ask"
why = "servers of others"

[[trust]]
project = "/home/ada/shop"
sha256 = "00"
"#;

fn category_of(tool: &str) -> Option<ToolCategory> {
    (tool == "run_command").then_some(ToolCategory::Execute)
}

fn parse(text: &str) -> Result<PermissionFile, String> {
    parse_permissions("permissions.toml", text, &category_of).map_err(|error| error.to_string())
}

fn narrowest(command: &str) -> PermissionRule {
    let (tool, arguments) = (ToolName::from_static("run_command"), json!({ "command": command }));
    let query =
        PermissionQuery { tool: &tool, category: ToolCategory::Execute, arguments: &arguments };
    PermissionRule::narrowest(query, "allowed when asked".into())
}

/// Z14: rules are read with their lines, and their own tests are run.
#[test]
fn z14_a_file_is_read_with_the_line_of_each_rule() {
    let file = parse(FILE).unwrap();
    let lines: Vec<_> = file.rules.iter().map(|rule| (rule.line, rule.tests)).collect();
    assert_eq!(lines, [(4, 2), (15, 0)]);
    assert!(file.rules.iter().all(|rule| rule.failures.is_empty()));
    assert_eq!(file.rules[0].rule.expires, Some(parse_expiry("2027-01-31T00:00:00Z").unwrap()));
    assert_eq!(file.rules[1].rule.subject, RuleSubject::Category(ToolCategory::Mcp));
    assert_eq!(file.trust[0].project, "/home/ada/shop");
}

/// Z14: what is wrong in a file is reported with line, column and a suggestion.
#[test]
fn z14_mistakes_are_told_with_line_and_column() {
    let rule = "[[rule]]\ntool = \"note\"\nverdict = \"allow\"\nwhy = \"x\"\n";
    let table = [
        (
            format!("{rule}argument = {{}}\n"),
            "permissions.toml:5:1: no key `argument`; did you mean `arguments`?",
        ),
        (
            format!("[[rules]]\n{rule}"),
            "permissions.toml:1:3: no key `rules`; did you mean `rule`?",
        ),
        (
            rule.replace("allow", "alow"),
            "permissions.toml:3:11: no value `alow`; did you mean `allow`?",
        ),
        (
            rule.replace("why = \"x\"\n", ""),
            "permissions.toml:1:1: `why` is missing: The reason, which is shown when the rule decides",
        ),
        (
            rule.replace("tool = \"note\"\n", ""),
            "permissions.toml:1:1: name the `tool` or the `category` of the rule",
        ),
        (
            format!("{rule}category = \"read\"\n"),
            "permissions.toml:5:12: a rule is about a `tool` or a `category`, not both",
        ),
        (
            rule.replace("\"x\"", "\" \""),
            "permissions.toml:4:7: say why the rule is there; it is shown to people",
        ),
        (
            format!("{rule}expires = \"soon\"\n"),
            "permissions.toml:5:11: `soon` is no time; write 2027-01-31 or 2027-01-31T12:00:00Z",
        ),
        (
            rule.replace("note", "no***"),
            "permissions.toml:2:8: `***` is not a pattern; write `*` for one name or word, `**` for anything",
        ),
        (
            format!("{rule}arguments = \"x\"\n"),
            "permissions.toml:5:13: expected a table, not a text",
        ),
        (
            format!("{rule}tests = [{{ applies = true, aplies = 1 }}]\n"),
            "permissions.toml:5:28: no key `aplies`; did you mean `applies`?",
        ),
        ("[[rule]\n".to_owned(), "permissions.toml:1:"),
    ];
    for (text, expected) in table {
        let found = parse(&text).unwrap_err();
        assert!(found.starts_with(expected), "{expected}\n{found}");
    }
}

/// Z14: a rule that fails its own tests is marked, and the others hold.
#[test]
fn z14_a_rule_that_fails_its_tests_is_refused_alone() {
    let file = parse(&FILE.replace("git status --short", "git push")).unwrap();
    let failures: Vec<_> = file.rules.iter().map(|rule| rule.failures.len()).collect();
    assert_eq!(failures, [1, 0]);
    let problem = file.rules[0].failures[0].to_string();
    let expected = "permissions.toml:11:3: the rule does not apply to this call, and must";
    assert!(problem.starts_with(expected), "{problem}");
}

/// Z14: an edit keeps comments, order and everything else.
#[test]
fn z14_a_written_rule_leaves_the_rest_of_the_file() {
    let rule = PermissionRule {
        expires: Some(Timestamp::from_millis(0)),
        ..narrowest("make && echo \"*\"")
    };
    let rendered = render_rule(&rule);
    let expected = "[[rule]]\ntool = \"run_command\"\narguments = { command = 'make && echo \"\\*\"' }\n\
                    verdict = \"allow\"\nwhy = \"allowed when asked\"\nexpires = \"1970-01-01T00:00:00Z\"\n";
    assert_eq!(rendered, expected);
    let at_end = insert_rule(FILE, &rule, None);
    assert_eq!(at_end, format!("{FILE}\n{rendered}"));
    assert_eq!(parse(&at_end).unwrap().rules.last().unwrap().rule, rule);
    let first = insert_rule(FILE, &rule, Some(4));
    let read: Vec<_> = parse(&first).unwrap().rules.into_iter().map(|rule| rule.rule).collect();
    let mut before: Vec<_> = parse(FILE).unwrap().rules.into_iter().map(|rule| rule.rule).collect();
    before.insert(0, rule);
    assert_eq!(read, before);
    assert_eq!(first.replace(&format!("{rendered}\n"), ""), FILE);
    let created = insert_rule("", &narrowest("ls"), None);
    assert_eq!(parse(&created).unwrap().rules.len(), 1);
}

#[test]
fn trust_is_written_once_per_project() {
    let shop = TrustedProject { project: "/home/ada/shop".into(), sha256: "11".into() };
    let changed = set_trust(FILE, &shop).unwrap();
    assert_eq!(changed, FILE.replace("\"00\"", "\"11\""));
    let other = TrustedProject { project: "/home/ada/bikes".into(), sha256: "22".into() };
    let both = parse(&set_trust(&changed, &other).unwrap()).unwrap();
    assert_eq!(both.trust, [shop, other.clone()]);
    assert_eq!(both.rules.len(), 2);
    assert_eq!(parse(&set_trust("", &other).unwrap()).unwrap().trust, [other]);
}

#[test]
fn patterns_of_every_kind_survive_a_file() {
    let (tool, arguments) = (
        ToolName::from_static("search"),
        json!({"query": {"n": 5, "x": 1.5, "all": true, "tags": ["a*", "b\\c"]}, "text": "a\nb"}),
    );
    let query = PermissionQuery { tool: &tool, category: ToolCategory::Mcp, arguments: &arguments };
    let rule = PermissionRule::narrowest(query, "x".into());
    let read = parse(&render_rule(&rule)).unwrap().rules.remove(0).rule;
    assert_eq!(read, rule);
    assert!(read.applies(query));
    assert_eq!(read.verdict, PermissionPolicy::Allow);
    assert_eq!(read.subject, RuleSubject::Tool(TextPattern::exact("search")));
}

#[test]
fn the_schema_describes_every_key() {
    let rule = &permissions_schema()["properties"]["rule"]["items"];
    for key in ["tool", "category", "arguments", "verdict", "why", "expires", "tests"] {
        assert!(rule["properties"][key]["description"].is_string(), "{key}");
    }
    assert_eq!(rule["additionalProperties"], false);
}
