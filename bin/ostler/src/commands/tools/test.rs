//! `ostler tools test`.

use std::time::Instant;

use clap::Args;
use ostler_engine::outcome::OutcomeStatus;
use serde_json::{Value, json};

use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};
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
    let (operator, org) = open_org(&args.target).await?;
    let started = Instant::now();
    let outcome = operator.org(&org).test_tool(&args.name, &args.arguments).await?;
    let millis = started.elapsed().as_millis();
    let json = json!({"org": org.id, "tool": args.name, "status": outcome.status,
        "content": outcome.content, "millis": millis});
    let status = serde_json::to_value(outcome.status)?;
    let status = status.as_str().unwrap_or_default().replace('_', " ");
    let style = if outcome.status == OutcomeStatus::Ok { GOOD } else { WARNING };
    let text = format!("{style}{status}{style:#} after {millis} ms\n\n{}", outcome.content);
    print_result(&args.target.output, &json, &text)
}
