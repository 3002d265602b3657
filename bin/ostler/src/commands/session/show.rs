//! `ostler session show`.

use anyhow::bail;
use ostler_domain::id::OrgId;
use ostler_domain::org::Org;
use ostler_runtime::talk::run::RunRecord;
use ostler_runtime::talk::session::Session;
use ostler_store::{Store, StoredSession, Which};

use super::view::{Line, Names, Talk, of_session, person};
use crate::cli::operate::OnSession;
use crate::home::Home;
use crate::screen::{Cell, HEADER, QUIET, print_rows};

/// How many sessions of an org are looked through.
const LOOKED_AT: u32 = 500;
/// How many calls that wait are named.
const LISTED: u32 = 3;

pub(crate) async fn run(command: &OnSession) -> anyhow::Result<()> {
    let home = Home::find(&command.at)?;
    let store = Store::open(&home.database()).await?;
    let (org, stored) = find(&store, &command.session, command.org.as_deref()).await?;
    let talk = of_session(&store, org.id, &stored).await?;
    if command.output.json {
        return crate::commands::print_json(&talk);
    }
    print(&store, &org, &talk).await
}

/// The session that is meant: by its id, the end of that, or whom it is with.
pub(crate) async fn find(
    store: &Store,
    wanted: &str,
    org: Option<&str>,
) -> anyhow::Result<(Org, StoredSession)> {
    let orgs = match org {
        Some(name) => vec![crate::commands::find_org(store, name).await?],
        None => store.orgs().await?,
    };
    let end = wanted.rsplit('…').next().unwrap_or(wanted);
    let mut some: Vec<(OrgId, String)> = Vec::new();
    for org in orgs {
        for stored in store.org(org.id).sessions(Which::All, None, LOOKED_AT).await? {
            let session: Session = serde_json::from_str(&stored.data)?;
            let who = person(&session);
            if stored.id.to_string() == wanted
                || who == wanted
                || (end.len() >= 2 && stored.id.to_string().ends_with(end))
            {
                return Ok((org, stored));
            }
            some.push((org.id, format!("{}  {who}", stored.id)));
        }
    }
    let known: Vec<String> =
        some.into_iter().take(5).map(|(_, text)| format!("\n  {text}")).collect();
    if known.is_empty() {
        bail!("there are no sessions yet; write as a customer with `ostler send`");
    }
    bail!("no session `{wanted}`; the newest are:{}", known.concat())
}

async fn print(store: &Store, org: &Org, talk: &Talk) -> anyhow::Result<()> {
    let Talk { session, state, lines, runs } = talk;
    let names = Names::of(store, org.id).await?;
    let who = session.name.clone().unwrap_or_else(|| person(session));
    anstream::println!("{HEADER}{} · {} · {who}{HEADER:#}    {state}", org.name, session.channel);
    if let Some(team) = &session.team {
        let everybody: Vec<String> = team.participants().iter().map(|id| names.get(*id)).collect();
        let handoffs = team.history().len();
        anstream::println!("team     {} (handoffs: {handoffs})", everybody.join(" → "));
        if let Some(goal) = &team.shared.conversation_goal {
            anstream::println!("goal     {goal}");
        }
    }
    anstream::println!();
    let rows: Vec<[Cell; 4]> = lines
        .iter()
        .map(|line| match line {
            Line::Said { at, who, text, mark, .. } => [
                Cell::styled(at, QUIET),
                Cell::styled(who, HEADER),
                text.as_str().into(),
                Cell::styled(mark.clone().unwrap_or_default(), QUIET),
            ],
            Line::Did { who, what, why, .. } => {
                ["".into(), who.as_str().into(), what.as_str().into(), Cell::styled(why, QUIET)]
            }
        })
        .collect();
    print_rows(&rows);
    anstream::println!();
    let next = next(store, org, session, runs).await?.into_iter();
    let words = std::iter::once("next   ").chain(std::iter::repeat(""));
    let rows: Vec<[Cell; 3]> = next
        .zip(words)
        .map(|((command, what), word)| {
            [Cell::styled(word, QUIET), command.into(), Cell::styled(what, QUIET)]
        })
        .collect();
    print_rows(&rows);
    Ok(())
}

/// What can be done with a session as it stands.
async fn next(
    store: &Store,
    org: &Org,
    session: &Session,
    runs: &[RunRecord],
) -> anyhow::Result<Vec<(String, &'static str)>> {
    let id = session.id;
    let mut all = Vec::new();
    match session.open_escalation().map(|one| one.state.human.is_some()) {
        Some(false) => {
            all.push((format!("ostler session take-over {id}"), "answer it yourself"));
            all.push((format!("ostler session dismiss {id}"), "a false alarm"));
        }
        Some(true) => {
            all.push((format!("ostler session say \"…\" {id}"), "write to the customer"));
            all.push((format!("ostler session resume {id}"), "hand it back to the agent"));
        }
        None => {}
    }
    for one in store.org(org.id).pending_approvals(id, None, LISTED).await? {
        let command = format!("ostler approval approve {} --org {}", one.approval.id, org.slug);
        all.push((command, "let the call run"));
    }
    if session.unknown_outcomes > 0 {
        all.push((format!("ostler outcome ls --org {}", org.slug), "calls without a known end"));
    }
    all.push((format!("ostler tools explain --session {id}"), "what the agent may do"));
    if let Some(run) = runs.last() {
        all.push((format!("ostler harness show {}", run.id), "what it worked in"));
    }
    Ok(all)
}
