//! `ostler session assign`.

use clap::Args;
use ostler_api::session::{AssignRequest, AssignResponse};
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
    let (org, session) = open_session(&args.session).await?;
    let (id, request) = (session.id, AssignRequest { agents: args.agents.clone() });
    let path = ["sessions", &id.to_string(), "assign"];
    let AssignResponse { agents: team } = org.post(&path, &request).await?;
    let text = format!("{id}  assigned to {}", args.agents.join(", "));
    print_result(&args.session.output, &json!({"session": id, "agents": team}), &text)
}
