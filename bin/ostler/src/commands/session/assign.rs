//! `ostler session assign`.

use clap::Args;
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
    let (operator, org, id) = open_session(&args.session).await?;
    if let Some(person) = &args.to {
        let user = operator.org(&org).assign_person(id, person).await?;
        let text = format!("{id}  {person} looks after it");
        return print_result(&args.session.output, &json!({"session": id, "user": user}), &text);
    }
    let agents: Vec<&str> = args.agents.iter().map(String::as_str).collect();
    let team = operator.org(&org).assign(id, &agents).await?;
    let text = format!("{id}  assigned to {}", agents.join(", "));
    print_result(&args.session.output, &json!({"session": id, "agents": team}), &text)
}
