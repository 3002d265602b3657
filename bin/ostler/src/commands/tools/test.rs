//! `ostler tools test`.

use clap::Args;
use ostler_api::tool::{ToolTestRequest, ToolTestResult};
use serde_json::{Value, json};

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;
use crate::screen::{GOOD, WARNING};

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Name of the tool
    #[arg(value_name = "NAME")]
    name: String,
    /// Arguments of the call, as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}", value_parser = parse_arguments)]
    arguments: Value,
    #[command(flatten)]
    target: OrgArgs,
}

fn parse_arguments(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("write a JSON object such as {\"order\": \"1001\"}".to_owned()),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

pub(super) async fn run(args: &TestArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let request = ToolTestRequest { arguments: args.arguments.clone() };
    let ToolTestResult { status, content, millis } =
        org.post(&["tools", &args.name, "test"], &request).await?;
    let json = json!({"org": org.org.id, "tool": args.name, "status": status,
        "content": content, "millis": millis});
    let style = if status == "ok" { GOOD } else { WARNING };
    let status = status.replace('_', " ");
    let text = format!("{style}{status}{style:#} after {millis} ms\n\n{content}");
    print_result(&args.target.output, &json, &text)
}
