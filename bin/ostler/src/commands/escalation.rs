//! `ostler escalation`: conversations that wait for a person.

use clap::Subcommand;
use ostler_api::escalation::QueuedEscalation;
use ostler_domain::human::escalation::{EscalationStatus, Urgency};
use ostler_server::wire;

use super::args::OrgArgs;
use super::operator::open_org;
use super::session::view::{contact_name, format_time};
use crate::screen::{BAD, Cell, HEADER, NextCommand, print_next, print_rows};

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
        let all: Vec<QueuedEscalation> = queue.iter().map(wire::queued_escalation).collect();
        return super::print_json(&all);
    }
    if queue.is_empty() {
        anstream::println!("no conversation in {} waits for a person", org.name);
        return Ok(());
    }
    let header = ["session", "contact", "urgency", "reason", "since", "status"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(queue.iter().map(|entry| {
        let state = &entry.escalation.state;
        let urgency = state.request.urgency.name().to_owned();
        let urgent = state.request.urgency == Urgency::High;
        [
            Cell::id(&entry.session.id),
            contact_name(&entry.session).into(),
            if urgent { Cell::styled(urgency, BAD) } else { urgency.into() },
            state.request.reason.as_str().into(),
            Cell::whole(format_time(state.requested_at)),
            status_text(state.status).into(),
        ]
    }));
    print_rows(&rows);
    let first = queue[0].session.id;
    print_next([
        NextCommand::new(format!("ostler session take-over {first}"), "answer it yourself"),
        NextCommand::new(format!("ostler session dismiss {first}"), "it is a false alarm"),
    ]);
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
