//! `ostler session assign`.

use clap::Args;
use ostler_api::session::{AssignRequest, AssignResponse};
use ostler_api::session_work::{AssigneeRequest, AssigneeResponse};
use serde_json::json;

use super::{SessionArgs, open_session};
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct AssignArgs {
    /// Agents, by slug, separated by commas; the first of them answers
    #[arg(long, value_name = "AGENTS", value_delimiter = ',', required_unless_present = "to")]
    agents: Vec<String>,
    /// Person who looks after it, by e-mail address or name
    #[arg(long, value_name = "PERSON", conflicts_with = "agents")]
    to: Option<String>,
    #[command(flatten)]
    session: SessionArgs,
}

pub(super) async fn run(args: &AssignArgs) -> anyhow::Result<()> {
    let (org, session) = open_session(&args.session).await?;
    let id = session.id;
    if let Some(person) = &args.to {
        let request = AssigneeRequest { person: person.clone() };
        let path = ["sessions", &id.to_string(), "assignee"];
        let AssigneeResponse { assignee } = org.put(&path, &request).await?;
        let text = format!("{id}  {person} looks after it");
        return print_result(
            &args.session.output,
            &json!({"session": id, "user": assignee}),
            &text,
        );
    }
    let request = AssignRequest { agents: args.agents.clone() };
    let path = ["sessions", &id.to_string(), "assign"];
    let AssignResponse { agents: team } = org.post(&path, &request).await?;
    let text = format!("{id}  assigned to {}", args.agents.join(", "));
    print_result(&args.session.output, &json!({"session": id, "agents": team}), &text)
}
