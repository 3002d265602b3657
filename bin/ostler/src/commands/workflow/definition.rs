//! `ostler workflow definition`: the workflows that an organization keeps.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use ostler_api::page::Page;
use ostler_domain::workflow::WorkflowDefinition;
use serde_json::{Value, json};

use crate::api_client::{Nothing, open_org};
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;
use crate::screen::{Cell, HEADER, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum DefinitionCommand {
    /// List the workflows that an organization keeps
    #[command(after_help = "\
Examples:
  ostler workflow definition ls --org bella")]
    Ls(OrgArgs),
    /// Print a workflow as a file
    #[command(after_help = "\
Examples:
  ostler workflow definition show refund --org bella > refund.toml")]
    Show(DefinitionArgs),
    /// Keep the workflow of a file under its name, for schedules and other workflows
    #[command(after_help = "\
Examples:
  ostler workflow definition save examples/workflows/refund.toml --org bella

A workflow of that name is replaced. What runs already goes on as it was started.")]
    Save(SaveArgs),
    /// Remove a workflow that no schedule starts
    #[command(after_help = "\
Examples:
  ostler workflow definition rm refund --org bella")]
    Rm(DefinitionArgs),
}

/// The definition that a command works on.
#[derive(Debug, Args)]
pub(crate) struct DefinitionArgs {
    /// Name of the workflow
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SaveArgs {
    /// TOML file that defines the workflow
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(command: &DefinitionCommand) -> anyhow::Result<()> {
    match command {
        DefinitionCommand::Ls(args) => list(args).await,
        DefinitionCommand::Show(args) => show(args).await,
        DefinitionCommand::Save(args) => save(args).await,
        DefinitionCommand::Rm(args) => remove(args).await,
    }
}

/// Reads a workflow from a file.
pub(super) fn read_definition(file: &Path) -> anyhow::Result<WorkflowDefinition> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    toml::from_str(&text).with_context(|| format!("{name} is not a workflow definition"))
}

async fn list(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let all: Page<Value> = org.get(&["workflow-definitions"]).await?;
    if args.output.json {
        return crate::commands::print_json(&all.items);
    }
    if all.items.is_empty() {
        anstream::println!("{} keeps no workflows", org.org.name);
        return Ok(());
    }
    let mut rows = vec![["workflow", "steps", "inputs"].map(|text| Cell::styled(text, HEADER))];
    for item in &all.items {
        let inputs = item["inputs"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let steps = item["step"].as_array().map_or(0, Vec::len);
        let name = item["name"].as_str().unwrap_or_default();
        let inputs: Vec<&str> = inputs.collect();
        rows.push([name.into(), steps.to_string().into(), inputs.join(", ").into()]);
    }
    print_rows(&rows);
    Ok(())
}

async fn show(args: &DefinitionArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let mut found: Value = org.get(&["workflow-definitions", &args.name]).await?;
    if args.target.output.json {
        return crate::commands::print_json(&found);
    }
    if let Some(fields) = found.as_object_mut() {
        fields.remove("org");
    }
    let definition: WorkflowDefinition = serde_json::from_value(found)?;
    anstream::print!("{}", toml::to_string(&definition)?);
    Ok(())
}

async fn save(args: &SaveArgs) -> anyhow::Result<()> {
    let definition = read_definition(&args.file)?;
    let name = definition.name();
    let org = open_org(&args.target).await?;
    let all: Page<Value> = org.get(&["workflow-definitions"]).await?;
    let is_known = all.items.iter().any(|item| item["name"] == name);
    let change = if is_known {
        // What the file leaves out is reset.
        let mut patch = json!({"agent": null, "inputs": null, "step": null});
        let fields = serde_json::to_value(&definition)?;
        for (key, value) in fields.as_object().into_iter().flatten() {
            patch[key] = value.clone();
        }
        org.patch::<Nothing>(&["workflow-definitions", name], &patch).await?;
        "replaced"
    } else {
        org.post::<Nothing>(&["workflow-definitions"], &definition).await?;
        "added"
    };
    let json = json!({"workflow": name, "change": change});
    print_result(&args.target.output, &json, &format!("workflow {name} {change}"))
}

async fn remove(args: &DefinitionArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    org.delete::<Nothing>(&["workflow-definitions", &args.name]).await?;
    let json = json!({"workflow": args.name, "change": "removed"});
    print_result(&args.target.output, &json, &format!("workflow {} removed", args.name))
}
