//! `ostler send`: writes as a customer, and prints what is answered.

use std::time::Duration;

use anyhow::Context as _;
use ostler_domain::channel::Channel;
use ostler_domain::message::Part;
use ostler_domain::session::key::{ConversationKey, Entry as EntryKind, Peer};
use ostler_runtime::deltas::Piece;
use ostler_runtime::talk::entry::{Entry, Writer, Wrote};
use ostler_store::{Accepted, Store};
use tokio::sync::watch;

use super::session::view::{self, Line, Talk};
use crate::cli::talk::Send;
use crate::home::Home;
use crate::kit::Kit;
use crate::screen::{HEADER, QUIET};

/// How often a reply is looked for that another process gives.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) async fn run(command: &Send) -> anyhow::Result<()> {
    let home = Home::find(&command.at)?;
    let kit = Kit::open(&home).await?;
    let key = key(&kit.store, command).await?;
    let before = view::of_conversation(&kit.store, &key).await?.map_or(0, |talk| talk.lines.len());

    // Whoever is faster answers: this process, or one that is running.
    let (stop, stopped) = watch::channel(false);
    let mut deltas = kit.worker.parts().deltas.follow();
    let worker = kit.worker.clone();
    let working = tokio::spawn(async move { worker.run(1, stopped).await });
    write(&kit, &key, &command.text).await?;
    let json = command.output.json;
    let streaming = tokio::spawn(async move {
        let mut streamed = false;
        while let Ok(delta) = deltas.recv().await {
            match delta.piece {
                Piece::Text { text, .. } if !json => {
                    streamed = true;
                    anstream::eprint!("{QUIET}{text}{QUIET:#}");
                }
                Piece::Over => break,
                _ => {}
            }
        }
        if streamed {
            anstream::eprintln!("\n");
        }
    });
    let talk = answered(&kit, &key, before, Duration::from_secs(command.timeout)).await;
    streaming.abort();
    stop.send_replace(true);
    working.await?;
    print(&talk?, before, command)
}

fn print(talk: &Talk, before: usize, command: &Send) -> anyhow::Result<()> {
    let new = &talk.lines[before.min(talk.lines.len())..];
    if command.output.json {
        return super::print_json(&new);
    }
    for line in new {
        match line {
            Line::Said { who, text, mark, .. } => {
                let mark = mark.as_deref().unwrap_or_default();
                anstream::println!("{HEADER}{who}{HEADER:#}  {text}  {QUIET}{mark}{QUIET:#}");
            }
            Line::Did { what, why, .. } => {
                anstream::println!("      {QUIET}{what}  {why}{QUIET:#}");
            }
        }
    }
    anstream::println!("{QUIET}{}{QUIET:#}", talk.state);
    Ok(())
}

/// The conversation of somebody on a channel of an org.
async fn key(store: &Store, command: &Send) -> anyhow::Result<ConversationKey> {
    let org = super::find_org(store, &command.org).await?;
    let channel = Channel::from(command.channel.as_str());
    let bindings = store.org(org.id).bindings(None, 100).await?;
    let bound = bindings.iter().find(|one| one.binding.channel == channel && one.binding.enabled);
    let binding = bound.map(|one| one.binding.id).with_context(|| {
        let names: Vec<&str> = bindings.iter().map(|one| one.binding.channel.name()).collect();
        format!("{} is not on {channel}; it is on: {}", org.name, names.join(", "))
    })?;
    let peer = Peer::Person(command.contact.clone());
    Ok(ConversationKey { org: org.id, binding, peer, entry: EntryKind::Customer })
}

/// Writes as a customer.
pub(crate) async fn write(kit: &Kit, key: &ConversationKey, text: &str) -> anyhow::Result<()> {
    let (Peer::Person(who) | Peer::Group(who)) = &key.peer;
    let id = format!("cli-{}", ostler_bus::next_id());
    let from = Writer { identifier: who.clone(), name: Some(capital(who)), locale: None };
    let entry = Entry::Wrote(Wrote {
        parts: vec![Part::text(text)],
        from,
        provider_id: Some(id.clone()),
        ..Wrote::default()
    });
    match kit.intake.accept(key.clone(), &id, &entry).await? {
        Accepted::New(_) | Accepted::Repeat(_) => Ok(()),
    }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Waits until all that was written is answered, and shows the conversation.
pub(crate) async fn answered(
    kit: &Kit,
    key: &ConversationKey,
    before: usize,
    patience: Duration,
) -> anyhow::Result<Talk> {
    let wait = async {
        loop {
            if let Some(talk) = view::of_conversation(&kit.store, key).await?
                && talk.lines.len() > before
            {
                return anyhow::Ok(talk);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::time::timeout(patience, wait).await.unwrap_or_else(|_| {
        anyhow::bail!("nobody has answered yet; the message is kept, look with `ostler session ls`")
    })
}
