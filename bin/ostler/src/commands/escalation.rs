//! `ostler escalation`: conversations that wait for a person.

use clap::Subcommand;
use ostler_api::escalation::QueuedEscalation;
use ostler_domain::human::escalation::{EscalationStatus, Urgency};

use super::args::OrgsArgs;
use super::session::view::format_time;
use crate::api_client::{open_listed_orgs, orgs_name};
use crate::screen::{BAD, Cell, HEADER, NextCommand, print_next, print_rows};

/// The most conversations that are listed for each org.
const LIST_LIMIT: usize = 1000;

#[derive(Debug, Subcommand)]
pub(crate) enum EscalationCommand {
    /// List the conversations that wait for a person, the most urgent first
    #[command(after_help = "\
Examples:
  ostler escalation ls
  ostler escalation ls --org bella --json")]
    Ls(OrgsArgs),
}

pub(crate) async fn run(command: &EscalationCommand) -> anyhow::Result<()> {
    let EscalationCommand::Ls(args) = command;
    let orgs = open_listed_orgs(args).await?;
    let mut queue = Vec::new();
    for org in &orgs {
        let own: Vec<QueuedEscalation> = org.list(&["escalations"], &[], LIST_LIMIT).await?;
        queue.extend(own.into_iter().map(|entry| (&org.org, entry)));
    }
    if args.output.json {
        let all: Vec<&QueuedEscalation> = queue.iter().map(|(_, entry)| entry).collect();
        return super::print_json(&all);
    }
    let Some((_, first)) = queue.first() else {
        anstream::println!("no conversation in {} waits for a person", orgs_name(&orgs));
        return Ok(());
    };
    let header = ["session", "org", "contact", "urgency", "reason", "since", "status"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(queue.iter().map(|(org, entry)| {
        let state = &entry.escalation;
        let urgency = state.urgency.name().to_owned();
        let urgent = state.urgency == Urgency::High;
        [
            Cell::id(&entry.session.id),
            org.slug.as_str().into(),
            entry.session.contact_name().into(),
            if urgent { Cell::styled(urgency, BAD) } else { urgency.into() },
            state.reason.as_str().into(),
            Cell::whole(format_time(state.requested_at)),
            status_text(state.status).into(),
        ]
    }));
    print_rows(&rows);
    let session = first.session.id;
    // The queue begins with those that nobody has taken over.
    if first.escalation.taken_over_by.is_some() {
        print_next([NextCommand::new(format!("ostler session show {session}"), "what was said")]);
        return Ok(());
    }
    print_next([
        NextCommand::new(format!("ostler session take-over {session}"), "answer it yourself"),
        NextCommand::new(format!("ostler session dismiss {session}"), "it is a false alarm"),
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
