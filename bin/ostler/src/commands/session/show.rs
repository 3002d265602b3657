//! `ostler session show`.

use anstyle::Style;
use ostler_api::approval::Approval;
use ostler_api::org::OrgSummary;
use ostler_api::session::{SessionDetail, SessionState};
use ostler_api::transcript::{Transcript, TranscriptLine};
use ostler_domain::session::key::Peer;
use ostler_domain::tool::Audience;
use serde_json::{Value, json};

use super::view::{CallDetail, beyond_the_cap, describe_state, format_time, print_lines};
use super::{SessionArgs, open_session};
use crate::commands::rule_view::describe_rule;
use crate::screen::{DIM, HEADER, NextCommand, print_next, print_paragraph};

/// The most pending approvals that are suggested.
const APPROVAL_LIMIT: usize = 3;

pub(super) async fn run(args: &SessionArgs) -> anyhow::Result<()> {
    let (org, found) = open_session(args).await?;
    let id = found.id.to_string();
    let transcript: Transcript = org.get(&["sessions", &id, "transcript"]).await?;
    let detail: SessionDetail = org.get(&["sessions", &id]).await?;
    if args.output.json {
        let mut json = json!(detail);
        json["changes"] = changes(&transcript);
        json["rules"] = rules(&transcript);
        return crate::commands::print_json(&json);
    }
    print(&org.org, &transcript);
    print_next(next_commands(&org.org, &transcript, &detail.approvals));
    Ok(())
}

/// Returns what people did with the session.
fn changes(transcript: &Transcript) -> Value {
    let changes = transcript.lines.iter().filter_map(|line| match line {
        TranscriptLine::Change(change) => Some(json!(change)),
        _ => None,
    });
    changes.collect()
}

/// Returns the calls that waited or were refused, with the rule in words.
fn rules(transcript: &Transcript) -> Value {
    let stopped = transcript.lines.iter().filter_map(|line| match line {
        TranscriptLine::Call(call) => call.rule.as_ref().map(|rule| (call, rule)),
        _ => None,
    });
    stopped
        .map(|(call, rule)| {
            json!({"run": call.run, "tool": call.tool, "decision": call.decision,
                "why": call.why, "approval": call.approval, "rule": describe_rule(rule)})
        })
        .collect()
}

fn print(org: &OrgSummary, transcript: &Transcript) {
    let session = &transcript.session;
    let contact = session.contact_name();
    anstream::println!("{HEADER}{} · {} · {contact}{HEADER:#}", org.name, session.channel);
    anstream::println!("{}  {DIM}{}{DIM:#}", session.id, format_time(session.opened_at));
    print_paragraph(&describe_state(session), Style::new());
    if let Some(team) = &transcript.team {
        let (members, handoffs) = (team.members.join(" → "), team.handoffs);
        anstream::println!("team     {members} (handoffs: {handoffs})");
        if let Some(goal) = &team.goal {
            anstream::println!("goal     {goal}");
        }
    }
    anstream::println!();
    print_lines(&transcript.lines, 0, CallDetail::Full);
}

/// Returns the commands that make sense in the state of a session, with their purpose.
fn next_commands(
    org: &OrgSummary,
    transcript: &Transcript,
    pending: &[Approval],
) -> Vec<NextCommand> {
    let session = &transcript.session;
    let id = session.id;
    let mut next = Vec::new();
    match session.open_escalation().map(|escalation| escalation.taken_over_by.is_some()) {
        Some(false) => {
            next.push(NextCommand::new(
                format!("ostler session take-over {id}"),
                "answer it yourself",
            ));
            next.push(NextCommand::new(
                format!("ostler session dismiss {id}"),
                "it is a false alarm",
            ));
        }
        Some(true) => {
            next.push(NextCommand::new(
                format!("ostler session say {id} \"…\""),
                "write to the customer",
            ));
            next.push(NextCommand::new(
                format!("ostler session resume {id}"),
                "hand it back to the agent",
            ));
        }
        None => {}
    }
    if session.spent >= session.credit_cap && session.status != SessionState::Closed {
        next.extend(beyond_the_cap(&id.to_string(), &org.slug));
    }
    for pending in pending.iter().take(APPROVAL_LIMIT) {
        let command = format!("ostler approval approve {} --org {}", pending.id, org.slug);
        next.push(NextCommand::new(command, "let the call run"));
    }
    if session.unknown_outcomes > 0 {
        next.push(NextCommand::new(
            format!("ostler unknown-outcome ls --org {}", org.slug),
            "calls with an unknown outcome",
        ));
    }
    if let (None, Audience::Customer, Peer::Person(name)) =
        (session.contact, session.audience, &session.peer)
    {
        next.push(NextCommand::new(
            format!("ostler contact link {}:{name} CONTACT --org {}", session.channel, org.slug),
            "say who this visitor is; agents show orders to known contacts only",
        ));
    }
    next.push(NextCommand::new(
        format!("ostler tools explain --session {id}"),
        "which tools the agent may use",
    ));
    if let Some(run) = transcript.last_run {
        next.push(NextCommand::new(
            format!("ostler harness show {run}"),
            "the harness of the last run",
        ));
    }
    next
}
