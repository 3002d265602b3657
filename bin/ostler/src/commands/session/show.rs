//! `ostler session show`.

use ostler_domain::org::Org;
use ostler_runtime::records::run::RunRecord;
use ostler_runtime::records::session::Session;
use ostler_store::Store;

use super::SessionArgs;
use super::find::find_session;
use super::view::{AgentNames, ConversationView, ViewLine, peer_name};
use crate::installation::Installation;
use crate::screen::{Cell, DIM, HEADER, print_rows};
/// The most pending approvals that are suggested.
const APPROVAL_LIMIT: u32 = 3;

pub(super) async fn run(args: &SessionArgs) -> anyhow::Result<()> {
    let installation = Installation::find(&args.installation)?;
    let store = Store::open(&installation.database()).await?;
    let (org, stored) = find_session(&store, &args.session, args.org.as_deref()).await?;
    let view = ConversationView::load(&store, org.id, &stored).await?;
    if args.output.json {
        return crate::commands::print_json(&view);
    }
    print(&store, &org, &view).await
}

async fn print(store: &Store, org: &Org, view: &ConversationView) -> anyhow::Result<()> {
    let ConversationView { session, state, lines, runs } = view;
    let names = AgentNames::load(store, org.id).await?;
    let contact = session.name.clone().unwrap_or_else(|| peer_name(session));
    anstream::println!(
        "{HEADER}{} · {} · {contact}{HEADER:#}    {state}",
        org.name,
        session.channel
    );
    if let Some(team) = &session.team {
        let members: Vec<String> = team.participants().iter().map(|id| names.get(*id)).collect();
        let handoffs = team.history().len();
        anstream::println!("team     {} (handoffs: {handoffs})", members.join(" → "));
        if let Some(goal) = &team.shared.conversation_goal {
            anstream::println!("goal     {goal}");
        }
    }
    anstream::println!();
    let rows: Vec<[Cell; 4]> = lines
        .iter()
        .map(|line| match line {
            ViewLine::Message { at, who, text, mark, .. } => [
                Cell::styled(at, DIM),
                Cell::styled(who, HEADER),
                text.as_str().into(),
                Cell::styled(mark.clone().unwrap_or_default(), DIM),
            ],
            ViewLine::Action { who, what, why, .. } => {
                ["".into(), who.as_str().into(), what.as_str().into(), Cell::styled(why, DIM)]
            }
        })
        .collect();
    print_rows(&rows);
    anstream::println!();
    let next = next_commands(store, org, session, runs).await?.into_iter();
    let labels = std::iter::once("next   ").chain(std::iter::repeat(""));
    let rows: Vec<[Cell; 3]> = next
        .zip(labels)
        .map(|((command, purpose), label)| {
            [Cell::styled(label, DIM), command.into(), Cell::styled(purpose, DIM)]
        })
        .collect();
    print_rows(&rows);
    Ok(())
}

/// Returns the commands that make sense in the state of a session, with their purpose.
async fn next_commands(
    store: &Store,
    org: &Org,
    session: &Session,
    runs: &[RunRecord],
) -> anyhow::Result<Vec<(String, &'static str)>> {
    let id = session.id;
    let mut next = Vec::new();
    match session.open_escalation().map(|escalation| escalation.state.human.is_some()) {
        Some(false) => {
            next.push((format!("ostler session take-over {id}"), "answer it yourself"));
            next.push((format!("ostler session dismiss {id}"), "it is a false alarm"));
        }
        Some(true) => {
            next.push((format!("ostler session say \"…\" {id}"), "write to the customer"));
            next.push((format!("ostler session resume {id}"), "hand it back to the agent"));
        }
        None => {}
    }
    for pending in store.org(org.id).pending_approvals(id, None, APPROVAL_LIMIT).await? {
        let command = format!("ostler approval approve {} --org {}", pending.approval.id, org.slug);
        next.push((command, "let the call run"));
    }
    if session.unknown_outcomes > 0 {
        next.push((
            format!("ostler unknown-outcome ls --org {}", org.slug),
            "calls with an unknown outcome",
        ));
    }
    next.push((format!("ostler tools explain --session {id}"), "which tools the agent may use"));
    if let Some(run) = runs.last() {
        next.push((format!("ostler harness show {}", run.id), "the harness of the last run"));
    }
    Ok(next)
}
