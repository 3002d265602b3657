//! `ostler tools show`.

use clap::Args;
use ostler_api::page::Page;
use ostler_api::tool::{CatalogueTool, ToolCatalogue};
use ostler_domain::tool::org_tools::OrgToolKind;
use serde_json::{Value, json};

use super::definition;
use crate::api_client::ApiClient;
use crate::commands::args::{OrgArgs, OutputArgs};
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
    let api = ApiClient::open(&args.target.installation).await?;
    let built_in: Page<CatalogueTool> = api.get(&["tools"], &[]).await?;
    let is_named = |tool: &&CatalogueTool| tool.spec.name.as_str() == args.name;
    if let Some(tool) = built_in.items.iter().find(is_named) {
        return print(tool, &args.target.output);
    }
    let org = api.find_org(&args.target.org).await?;
    if args.name.starts_with("mcp__") {
        let catalogue: ToolCatalogue = org.get(&["tool-catalogue"]).await?;
        if let Some(tool) = catalogue.tools.iter().find(is_named) {
            return print(tool, &args.target.output);
        }
    }
    let tool = definition::find(&org, OrgToolKind::Http, &args.name).await?;
    definition::print(&tool, &args.target.output)
}

/// Prints what models are told about a tool, and its arguments.
fn print(tool: &CatalogueTool, output: &OutputArgs) -> anyhow::Result<()> {
    let CatalogueTool { spec, description, arguments: schema, .. } = tool;
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
