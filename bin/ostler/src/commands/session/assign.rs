//! `ostler session assign`.

use clap::Args;
use serde_json::json;

use super::{SessionArgs, open_session};
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct AssignArgs {
    /// Agents, by slug, separated by commas; the first of them answers
    #[arg(long, value_name = "AGENTS", value_delimiter = ',', required = true)]
    agents: Vec<String>,
    #[command(flatten)]
    session: SessionArgs,
}

pub(super) async fn run(args: &AssignArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_session(&args.session).await?;
    let agents: Vec<&str> = args.agents.iter().map(String::as_str).collect();
    let team = operator.org(&org).assign(id, &agents).await?;
    let text = format!("{id}  assigned to {}", agents.join(", "));
    print_result(&args.session.output, &json!({"session": id, "agents": team}), &text)
}
