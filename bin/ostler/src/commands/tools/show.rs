//! `ostler tools show`.

use clap::Args;
use ostler_domain::tool::org_tools::OrgToolKind;
use ostler_engine::tool::ToolDefinition;
use serde_json::{Value, json};

use super::definition;
use crate::commands::args::{OrgArgs, OutputArgs};
use crate::commands::operator::{Operator, open_org};
use crate::screen::{Cell, DIM, HEADER, print_paragraph, print_rows};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Name of the tool
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.target.installation).await?;
    if let Some(tool) = operator.tools.built_in.definition(&args.name) {
        return print(tool, &args.target.output);
    }
    let (operator, org) = open_org(&args.target).await?;
    let operations = operator.org(&org);
    if let Some(tool) = operations.tool_set().await?.tools.definition(&args.name)
        && args.name.starts_with("mcp__")
    {
        return print(tool, &args.target.output);
    }
    let stored = operations.own_tool(OrgToolKind::Http, &args.name).await?;
    definition::print(&stored.tool, &args.target.output)
}

/// Prints what models are told about a tool, and its arguments.
fn print(tool: &ToolDefinition, output: &OutputArgs) -> anyhow::Result<()> {
    let ToolDefinition { spec, description, schema, .. } = tool;
    if output.json {
        let mut value = json!(spec);
        value["description"] = json!(description);
        value["arguments"] = schema.clone();
        return crate::commands::print_json(&value);
    }
    let (risk, reach, price) = (spec.risk.name(), spec.reach.name(), spec.price_text());
    anstream::println!("{HEADER}{}{HEADER:#}  {risk}, {reach}, {price}\n", spec.name);
    print_paragraph(description, DIM);
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let mut rows = vec![["argument", "type", "", ""].map(|text| Cell::styled(text, HEADER))];
    for (name, argument) in schema["properties"].as_object().into_iter().flatten() {
        let text = argument["description"].as_str().unwrap_or_default();
        rows.push([
            name.as_str().into(),
            argument_type(argument).into(),
            if is_required(name) { "required" } else { "" }.into(),
            text.into(),
        ]);
    }
    anstream::println!();
    match rows.len() {
        1 => anstream::println!("It takes no arguments."),
        _ => print_rows(&rows),
    }
    Ok(())
}

/// Returns the type of an argument: its JSON type, or the values that it may have.
fn argument_type(schema: &Value) -> String {
    let texts = |values: &Value| -> Vec<String> {
        let all = values.as_array().into_iter().flatten().filter_map(Value::as_str);
        all.filter(|one| *one != "null").map(ToOwned::to_owned).collect()
    };
    let values = texts(&schema["enum"]);
    if !values.is_empty() {
        return values.join(" | ");
    }
    match &schema["type"] {
        Value::String(name) => name.clone(),
        several => texts(several).join(" | "),
    }
}
