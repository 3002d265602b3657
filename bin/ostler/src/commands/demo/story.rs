//! The story of the demo: a question, a handoff, a refund that needs approval, and a
//! customer who wants a person.

use std::time::Duration;

use anyhow::Context as _;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_store::Store;

use crate::app::App;
use crate::commands::send;
use crate::commands::session::view::{CallDetail, print_lines};
use crate::screen::print_prose;

/// The messages of Rosa, the customer.
const MESSAGES: [&str; 2] = [
    "I paid 50 but my order should be 40. Order 1234.",
    "This is ridiculous, what a useless service. I want a real person!",
];
/// The time limit for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Plays the story.
pub(super) async fn play(app: &App, org: OrgId, webchat: BindingId) -> anyhow::Result<()> {
    anstream::println!("\n  A customer writes in the web chat of Bella Pizza …");
    let peer = Peer::Person("rosa".into());
    let key = ConversationKey { org, binding: webchat, peer, entry: ConversationEntry::Customer };
    for text in MESSAGES {
        let message = send::accept(app, &key, vec![MessagePart::text(text)]).await?;
        let (view, run) = send::wait_for_reply(app, &key, message, TIMEOUT).await?;
        print_lines(view.lines_of(run), 2, CallDetail::Brief);
    }
    Ok(())
}

/// Prints an explanation of the story.
pub(super) fn explain() {
    anstream::println!();
    print_prose(
        "Gia answers the customers of Bella Pizza and may not touch money, so she handed Rosa to \
         Enzo. He may refund, but not alone: the refund waits for a person. Then Rosa asked for a \
         person, and waits as well. Models only request tool calls; the runtime decides which of \
         them run.",
        2,
    );
}

/// Returns the org of Bella Pizza.
pub(super) async fn find_bella(store: &Store) -> anyhow::Result<OrgId> {
    let orgs = store.orgs().await?;
    let bella = orgs.iter().find(|org| org.slug == "bella").context("the world has no bella")?;
    Ok(bella.id)
}

#[cfg(test)]
mod tests {
    use ostler_scripted::Script;

    #[test]
    fn the_script_of_the_demo_is_valid() {
        Script::parse("harbour.yaml", super::super::folder::SCRIPT).unwrap();
    }
}
