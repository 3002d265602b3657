//! `ostler permission test`.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use ostler_domain::gate::permission::rule::PermissionRule;
use ostler_domain::gate::permission::{PermissionPolicy, PermissionQuery, PermissionSource};
use ostler_domain::tool::{ToolCategory, ToolName};
use ostler_world::permissions::render_rule;
use serde_json::{Value, json};

use super::files::{KnownTools, PermissionArgs, decide};
use crate::commands::print_json;
use crate::screen::{BAD, Cell, DIM, HEADER, count, print_fields, print_paragraph};

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Tool of a call
    #[arg(value_name = "TOOL")]
    tool: Option<ToolName>,
    /// Arguments of the call, as JSON
    #[arg(value_name = "ARGUMENTS", default_value = "{}", hide_default_value = true)]
    arguments: String,
    /// Kind of the tool, if it is not one of Ostler's own: read, edit, execute, mcp or other
    #[arg(long, value_name = "KIND", value_parser = parse_category)]
    category: Option<ToolCategory>,
    #[command(flatten)]
    permission: PermissionArgs,
}

pub(super) fn run(args: &TestArgs) -> anyhow::Result<ExitCode> {
    let (files, tools) = (args.permission.files()?, KnownTools::load()?);
    let loaded = files.load(&|tool| tools.category(tool))?;
    let arguments: Value =
        serde_json::from_str(&args.arguments).context("the arguments are not JSON")?;
    let decided = args.tool.as_ref().map(|tool| {
        let category = args.category.or_else(|| tools.category(tool.as_str()));
        let category = category.unwrap_or(ToolCategory::Other);
        let query = PermissionQuery { tool, category, arguments: &arguments };
        let (policy, source) = decide(&loaded, query);
        let narrowest = PermissionRule::narrowest(query, "allowed when asked".to_owned());
        TestedCall { policy, source, category, narrowest: render_rule(&narrowest) }
    });
    if args.permission.output.json {
        print_json(&json!({
            "rules": loaded.rules.len(),
            "tests": loaded.tests,
            "failures": loaded.failures,
            "notes": loaded.notes,
            "call": decided.as_ref().map(TestedCall::to_json),
        }))?;
    } else {
        let rules = count(loaded.rules.len() as u64, "rule");
        let tests = count(loaded.tests as u64, "test");
        match loaded.failures.len() {
            0 => anstream::println!("{rules}, {tests}: all hold"),
            failed => anstream::println!("{rules}, {tests}: {BAD}{failed} fail{BAD:#}"),
        }
        for note in loaded.failures.iter().chain(&loaded.notes) {
            anstream::println!("{note}");
        }
        if let Some(decided) = &decided {
            decided.print();
        }
    }
    Ok(if loaded.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The decision about a call.
struct TestedCall {
    policy: PermissionPolicy,
    source: PermissionSource,
    category: ToolCategory,
    /// The narrowest rule that would allow it.
    narrowest: String,
}

impl TestedCall {
    fn to_json(&self) -> Value {
        json!({
            "verdict": self.policy,
            "rung": self.source.rung(),
            "reason": self.source.to_string(),
            "rule": self.source.rule(),
            "category": self.category,
            "narrowest_rule": self.narrowest,
        })
    }

    fn print(&self) {
        let rung = self.source.rung();
        let name = [
            "asking is off",
            "rules for tools",
            "granted tools",
            "granted kinds of tools",
            "rules for kinds of tools",
            "no rule",
        ];
        let name = name.get(usize::from(rung) - 1).copied().unwrap_or_default();
        let field = |name: &str| Cell::styled(name, HEADER);
        anstream::println!();
        print_fields(&[
            [field("verdict"), self.policy.name().into()],
            [field("rung"), format!("{rung}, {name}").into()],
            [field("reason"), self.source.to_string().into()],
            [field("kind of tool"), self.category.name().into()],
        ]);
        if self.policy != PermissionPolicy::Allow {
            anstream::println!();
            print_paragraph("The narrowest rule that would allow it, before the one above:", DIM);
            anstream::print!("{}", self.narrowest);
        }
    }
}

fn parse_category(text: &str) -> Result<ToolCategory, String> {
    serde_json::from_value(text.into())
        .map_err(|_| "there are: read, edit, execute, mcp, other".to_owned())
}
