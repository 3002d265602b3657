//! `ostler permission ls`.

use ostler_domain::gate::permission::arguments::arguments_to_value;
use ostler_domain::gate::permission::rule::{PlacedRule, RuleForce, RuleSubject};
use ostler_domain::time::Timestamp;
use serde_json::{Value, json};

use super::files::{KnownTools, PermissionArgs, now};
use crate::commands::{print_json, rfc3339};
use crate::screen::{Cell, DIM, HEADER, print_paragraph, print_rows};

pub(super) fn run(args: &PermissionArgs) -> anyhow::Result<()> {
    let (files, tools) = (args.files()?, KnownTools::load()?);
    let loaded = files.load(&|tool| tools.category(tool))?;
    let now = now();
    if args.output.json {
        let rules: Vec<Value> = loaded.rules.iter().map(|rule| to_json(rule, now)).collect();
        let notes: Vec<&String> = loaded.failures.iter().chain(&loaded.notes).collect();
        return print_json(&json!({ "rules": rules, "notes": notes }));
    }
    if loaded.rules.is_empty() {
        let names = [files.user.clone(), files.project_file()].into_iter().flatten();
        let names: Vec<String> = names.map(|path| path.display().to_string()).collect();
        anstream::println!("no rules in {}", names.join(" and "));
    } else {
        let header = ["rung", "about", "arguments", "verdict", "why", "place"];
        let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
        rows.extend(loaded.rules.iter().map(|placed| row(placed, now)));
        print_rows(&rows);
    }
    for note in loaded.failures.iter().chain(&loaded.notes) {
        print_paragraph(note, DIM);
    }
    Ok(())
}

fn row(placed: &PlacedRule, now: Timestamp) -> [Cell; 6] {
    let PlacedRule { rule, file, line, .. } = placed;
    let (rung, about) = match &rule.subject {
        RuleSubject::Tool(tool) => ("2", tool.to_string()),
        RuleSubject::Category(category) => ("5", format!("{} tools", category.name())),
    };
    let arguments = rule
        .arguments
        .as_ref()
        .map_or("any".to_owned(), |arguments| arguments_to_value(arguments).to_string());
    let state = state(placed, now);
    let verdict = rule.verdict.name();
    let verdict = if state == "in_force" {
        verdict.into()
    } else {
        format!("{verdict}, {}", state.replace('_', " "))
    };
    let place = Cell::whole(format!("{file}:{line}"));
    [rung.into(), about.into(), arguments.into(), verdict.into(), rule.why.as_str().into(), place]
}

fn state(placed: &PlacedRule, now: Timestamp) -> &'static str {
    match placed.force {
        _ if placed.rule.is_expired(now) => "expired",
        RuleForce::Full => "in_force",
        RuleForce::NarrowsOnly => "only_narrows",
        RuleForce::FailsTests => "fails_its_tests",
    }
}

fn to_json(placed: &PlacedRule, now: Timestamp) -> Value {
    let rule = &placed.rule;
    let (tool, category) = match &rule.subject {
        RuleSubject::Tool(tool) => (Some(tool.to_string()), None),
        RuleSubject::Category(category) => (None, Some(category.name())),
    };
    json!({
        "tool": tool,
        "category": category,
        "arguments": rule.arguments.as_ref().map(arguments_to_value),
        "verdict": rule.verdict,
        "why": rule.why,
        "expires": rule.expires.map(rfc3339),
        "scope": placed.scope,
        "file": *placed.file,
        "line": placed.line,
        "state": state(placed, now),
    })
}
