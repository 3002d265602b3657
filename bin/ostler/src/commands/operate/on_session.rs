//! What a person does with a conversation: takes it over, writes, hands back.

use ostler_domain::message::Part;
use ostler_runtime::talk::session::Session;
use serde_json::json;

use super::Desk;
use crate::cli::operate::OnSession;
use crate::cli::talk::Session as Command;
use crate::commands::session::show::find;
use crate::commands::session::view::state;

pub(crate) async fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::TakeOver(on) => {
            let (desk, place) = open(on).await?;
            let done = desk.office(&place.0).take_over(place.1).await?;
            let what = match (done.withdrawn, done.in_flight.len()) {
                (0, 0) => "yours".to_owned(),
                (withdrawn, 0) => format!("yours; {withdrawn} unsent replies were withdrawn"),
                (_, sending) => format!("yours; {sending} replies were on their way already"),
            };
            print(on, &done.session, &what)
        }
        Command::Say(say) => {
            let (desk, place) = open(&say.on).await?;
            let parts = vec![Part::text(say.text.clone())];
            let session = desk.office(&place.0).say(place.1, parts).await?;
            print(&say.on, &session, "sent, word for word")
        }
        Command::Resume(on) => {
            let (desk, place) = open(on).await?;
            let session = desk.office(&place.0).resume(place.1).await?;
            print(on, &session, "handed back; the agent knows what you said")
        }
        Command::Dismiss(on) => {
            let (desk, place) = open(on).await?;
            let session = desk.office(&place.0).dismiss(place.1).await?;
            print(on, &session, "dismissed; the agent answers")
        }
        Command::Close(on) => {
            let (desk, place) = open(on).await?;
            let session = desk.office(&place.0).close(place.1).await?;
            print(on, &session, "closed")
        }
        Command::Assign(assign) => {
            let (desk, place) = open(&assign.on).await?;
            let agents: Vec<&str> = assign.agents.iter().map(String::as_str).collect();
            let team = desk.office(&place.0).assign(place.1, &agents).await?;
            let words = format!("{}  {} from now on", place.1, agents.join(", "));
            super::say(&assign.on.output, &json!({"session": place.1, "agents": team}), &words)
        }
        Command::Ls(_) | Command::Show(_) => Ok(()),
    }
}

type Place = (ostler_domain::org::Org, ostler_domain::id::SessionId);

async fn open(on: &OnSession) -> anyhow::Result<(Desk, Place)> {
    let desk = Desk::open(&on.at).await?;
    let (org, stored) = find(&desk.store, &on.session, on.org.as_deref()).await?;
    Ok((desk, (org, stored.id)))
}

fn print(on: &OnSession, session: &Session, what: &str) -> anyhow::Result<()> {
    if on.output.json {
        return crate::commands::print_json(session);
    }
    anstream::println!("{}  {what}\n{}", session.id, state(session));
    Ok(())
}
