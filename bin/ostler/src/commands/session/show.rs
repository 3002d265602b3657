//! `ostler session show`.

use anstyle::Style;
use ostler_domain::org::Org;
use ostler_domain::session::key::Peer;
use ostler_domain::tool::Audience;
use ostler_runtime::records::run::RunRecord;
use ostler_runtime::records::session::Session;
use ostler_server::wire;
use ostler_store::Store;
use serde_json::json;

use super::SessionArgs;
use super::find::find_session;
use super::view::{
    AgentNames, CallDetail, ConversationView, contact_name, format_time, print_lines,
};
use crate::commands::operator::Operator;
use crate::screen::{DIM, HEADER, NextCommand, print_next, print_paragraph};

/// The most pending approvals that are suggested.
const APPROVAL_LIMIT: u32 = 3;

pub(super) async fn run(args: &SessionArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.installation).await?;
    let store = &operator.store;
    let (org, stored) = find_session(store, &args.session, args.org.as_deref()).await?;
    let mut view = ConversationView::load(store, org.id, &stored).await?;
    let agents = store.org(org.id).agents().await?;
    view.find_rules(&agents, &operator.org(&org)).await?;
    if args.output.json {
        let mut json = json!(wire::detail(&operator.org(&org).session(stored.id).await?));
        json["changes"] = view.changes().map(|change| json!(change)).collect();
        json["rules"] = view.rules();
        return crate::commands::print_json(&json);
    }
    print(store, &org, &view).await
}

async fn print(store: &Store, org: &Org, view: &ConversationView) -> anyhow::Result<()> {
    let ConversationView { session, state, lines, runs } = view;
    let names = AgentNames::load(store, org.id).await?;
    let contact = contact_name(session);
    anstream::println!("{HEADER}{} · {} · {contact}{HEADER:#}", org.name, session.channel);
    anstream::println!("{}  {DIM}{}{DIM:#}", session.id, format_time(session.opened_at));
    print_paragraph(state, Style::new());
    if let Some(team) = &session.team {
        let members: Vec<String> = team.participants().iter().map(|id| names.get(*id)).collect();
        let handoffs = team.history().len();
        anstream::println!("team     {} (handoffs: {handoffs})", members.join(" → "));
        if let Some(goal) = &team.shared.conversation_goal {
            anstream::println!("goal     {goal}");
        }
    }
    anstream::println!();
    print_lines(lines, 0, CallDetail::Full);
    print_next(next_commands(store, org, session, runs).await?);
    Ok(())
}

/// Returns the commands that make sense in the state of a session, with their purpose.
async fn next_commands(
    store: &Store,
    org: &Org,
    session: &Session,
    runs: &[RunRecord],
) -> anyhow::Result<Vec<NextCommand>> {
    let id = session.id;
    let mut next = Vec::new();
    match session.open_escalation().map(|escalation| escalation.state.human.is_some()) {
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
    for pending in store.org(org.id).pending_approvals(id, None, APPROVAL_LIMIT).await? {
        let command = format!("ostler approval approve {} --org {}", pending.approval.id, org.slug);
        next.push(NextCommand::new(command, "let the call run"));
    }
    if session.unknown_outcomes > 0 {
        next.push(NextCommand::new(
            format!("ostler unknown-outcome ls --org {}", org.slug),
            "calls with an unknown outcome",
        ));
    }
    if let (None, Audience::Customer, Peer::Person(name)) =
        (session.contact, session.audience(), &session.peer)
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
    if let Some(run) = runs.iter().rfind(|run| !run.turns.is_empty()) {
        next.push(NextCommand::new(
            format!("ostler harness show {}", run.id),
            "the harness of the last run",
        ));
    }
    Ok(next)
}
