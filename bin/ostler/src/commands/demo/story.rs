//! The story that the demonstration plays: a question, a handover, a refund that
//! a person has to approve, and a customer who wants a person.

use std::time::Duration;

use anyhow::Context as _;
use ostler_domain::id::{BindingId, OrgId, RunId};
use ostler_domain::message::Part;
use ostler_domain::session::key::{ConversationKey, Entry as EntryKind, Peer};
use ostler_store::Store;

use crate::commands::send;
use crate::commands::session::view::{Line, Talk};
use crate::kit::Kit;
use crate::screen::{HEADER, QUIET, WAITS};

/// What Rosa writes.
const LINES: [&str; 2] = [
    "I paid 50 but my order should be 40. Order 1234.",
    "This is ridiculous, what a useless service. I want a real person!",
];
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Plays the story.
pub(super) async fn play(kit: &Kit, org: OrgId, chat: BindingId) -> anyhow::Result<()> {
    anstream::println!("\n  A customer writes on the web chat of Bella Pizza …");
    let peer = Peer::Person("rosa".into());
    let key = ConversationKey { org, binding: chat, peer, entry: EntryKind::Customer };
    for text in LINES {
        let message = send::write(kit, &key, vec![Part::text(text)]).await?;
        let (talk, run) = send::answered(kit, &key, message, PATIENCE).await?;
        print(&talk, run);
    }
    Ok(())
}

fn print(talk: &Talk, run: RunId) {
    for line in talk.lines_of(run) {
        match line {
            Line::Said { at, who, text, mark, .. } => {
                let mark = mark.as_ref().map_or_else(String::new, |mark| format!("  {mark}"));
                anstream::println!(
                    "  {at}  {HEADER}{who:<22}{HEADER:#} {text}{QUIET}{mark}{QUIET:#}"
                );
            }
            Line::Did { what, why, .. } => {
                anstream::println!("            {WAITS}{what}{WAITS:#}  {QUIET}{why}{QUIET:#}");
            }
        }
    }
}

/// Says what to make of it.
pub(super) fn explain() {
    anstream::println!(
        "\n  Gia answers Bella Pizza's customers and must not touch money, so she handed Rosa to Enzo.\n  \
         He may, but not alone: the refund waits for a person. Then Rosa asked for one, and waits too.\n  \
         Models only ask; what may run is decided by the runtime, call by call."
    );
}

/// Bella Pizza.
pub(super) async fn client(store: &Store) -> anyhow::Result<OrgId> {
    let orgs = store.orgs().await?;
    let bella = orgs.iter().find(|org| org.slug == "bella").context("the world has no bella")?;
    Ok(bella.id)
}

#[cfg(test)]
mod tests {
    use ostler_models::scripted::Script;

    #[test]
    fn the_script_of_the_demonstration_can_be_read() {
        Script::parse("harbour.yaml", super::super::SCRIPT).unwrap();
    }
}
