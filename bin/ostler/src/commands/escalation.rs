//! `ostler escalation`: conversations that wait for a person.

use clap::Subcommand;
use ostler_domain::human::escalation::{EscalationStatus, Urgency};

use super::args::OrgArgs;
use super::operator::open_org;
use super::session::view::{format_time, peer_name};
use crate::screen::{BAD, Cell, DIM, HEADER, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum EscalationCommand {
    /// List the conversations that wait for a person, the most urgent first
    #[command(after_help = "\
Examples:
  ostler escalation ls --org bella")]
    Ls(OrgArgs),
}

pub(crate) async fn run(command: &EscalationCommand) -> anyhow::Result<()> {
    let EscalationCommand::Ls(args) = command;
    let (operator, org) = open_org(args).await?;
    let queue = operator.org(&org).escalations().await?;
    if args.output.json {
        return super::print_json(&queue);
    }
    if queue.is_empty() {
        anstream::println!("no conversation in {} waits for a person", org.name);
        return Ok(());
    }
    let header = ["session", "contact", "urgency", "reason", "since", "status"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(queue.iter().map(|entry| {
        let state = &entry.escalation.state;
        let urgency = format!("{:?}", state.request.urgency).to_lowercase();
        let urgent = state.request.urgency == Urgency::High;
        [
            entry.session.id.to_string().into(),
            entry.session.name.clone().unwrap_or_else(|| peer_name(&entry.session)).into(),
            if urgent { Cell::styled(urgency, BAD) } else { urgency.into() },
            state.request.reason.as_str().into(),
            format_time(state.requested_at).into(),
            status_text(state.status).into(),
        ]
    }));
    print_rows(&rows);
    let first = queue[0].session.id;
    anstream::println!(
        "\n{DIM}next{DIM:#}  ostler session take-over {first}  {DIM}answer it yourself{DIM:#}\n      \
         ostler session dismiss {first}    {DIM}a false alarm{DIM:#}"
    );
    Ok(())
}

const fn status_text(status: EscalationStatus) -> &'static str {
    match status {
        EscalationStatus::Pending => "pending",
        EscalationStatus::TakenOver => "taken over",
        EscalationStatus::Resolved => "resolved",
        EscalationStatus::Dismissed => "dismissed",
        EscalationStatus::TimedOut => "timed out",
    }
}
