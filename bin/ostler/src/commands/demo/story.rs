//! The story that the demonstration plays: a question, a handover, a refund that
//! a person has to approve, and a customer who wants a person.

use std::time::Duration;

use anyhow::Context as _;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::session::key::{ConversationKey, Entry as EntryKind, Peer};
use ostler_store::{Store, Which};

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
pub(super) async fn play(kit: &Kit) -> anyhow::Result<()> {
    let org = client(&kit.store).await?;
    anstream::println!("\n  A customer writes …");
    let key = rosa(&kit.store, org).await?;
    let mut seen = 0;
    for text in LINES {
        send::write(kit, &key, text).await?;
        let talk = send::answered(kit, &key, seen, PATIENCE).await?;
        print(&talk, seen);
        seen = talk.lines.len();
    }
    Ok(())
}

fn print(talk: &Talk, seen: usize) {
    for line in &talk.lines[seen..] {
        match line {
            Line::Said { at, who, text, mark } => {
                let mark = mark.as_deref().unwrap_or_default();
                anstream::println!(
                    "  {at}  {HEADER}{who:<22}{HEADER:#} {text}  {QUIET}{mark}{QUIET:#}"
                );
            }
            Line::Did { what, why, .. } => {
                anstream::println!("            {WAITS}{what}{WAITS:#}  {QUIET}{why}{QUIET:#}");
            }
        }
    }
}

/// Says what can be done next.
pub(super) async fn invite(kit: &Kit) -> anyhow::Result<()> {
    let org = client(&kit.store).await?;
    let newest = kit.store.org(org).sessions(Which::All, None, 1).await?;
    let session = newest.first().map_or_else(|| "ses_…".to_owned(), |one| one.id.to_string());
    let ostler = std::env::args().next().unwrap_or_else(|| "ostler".to_owned());
    anstream::println!(
        "
  {HEADER}try{HEADER:#}   {ostler} send --org bella --contact rosa \"hello?\"
        {ostler} session show {session}
        {ostler} approval ls --org bella            {ostler} escalation ls --org bella
        {ostler} session take-over {session}
        {ostler} send --org bella --contact otto \"Are you open on Monday?\"
  {HEADER}stop{HEADER:#}  Ctrl-C   (everything is kept; start again with `ostler demo`; reset with `ostler demo --reset`)"
    );
    Ok(())
}

/// Bella Pizza.
async fn client(store: &Store) -> anyhow::Result<OrgId> {
    let orgs = store.orgs().await?;
    let bella = orgs.iter().find(|org| org.slug == "bella").context("the world has no bella")?;
    Ok(bella.id)
}

/// Rosa's conversation on the web chat.
async fn rosa(store: &Store, org: OrgId) -> anyhow::Result<ConversationKey> {
    let bindings = store.org(org).bindings(None, 10).await?;
    let binding: BindingId =
        bindings.first().map(|one| one.binding.id).context("bella has no web chat")?;
    let peer = Peer::Person("rosa".into());
    Ok(ConversationKey { org, binding, peer, entry: EntryKind::Customer })
}

#[cfg(test)]
mod tests {
    use ostler_models::scripted::Script;

    #[test]
    fn the_script_of_the_demonstration_can_be_read() {
        Script::parse("harbour.yaml", super::super::SCRIPT).unwrap();
    }
}
