//! `ostler send`: writes as a customer, and prints what is answered.

mod attach;

use std::pin::pin;
use std::time::Duration;

use anyhow::Context as _;
use ostler_domain::channel::Channel;
use ostler_domain::id::{ConversationId, InboxId, RunId};
use ostler_domain::message::Part;
use ostler_domain::session::key::{ConversationKey, Entry as EntryKind, Peer};
use ostler_runtime::deltas::{Delta, Piece};
use ostler_runtime::talk::entry::{Entry, Writer, Wrote};
use ostler_store::{Accepted, ReadFrom, Store};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use super::session::view::{self, Line, Talk};
use crate::cli::talk::Send;
use crate::draft::Draft;
use crate::home::Home;
use crate::kit::Kit;
use crate::screen::{HEADER, QUIET};

/// How often a reply is looked for that another process gives.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) async fn run(command: &Send) -> anyhow::Result<()> {
    let home = Home::find(&command.at)?;
    let files = attach::read(&command.attach)?;
    let kit = Kit::open(&home).await?;
    let key = key(&kit.store, command).await?;
    let mut parts: Vec<Part> = command.text.iter().map(Part::text).collect();
    parts.extend(attach::keep(&kit.store, key.org, files).await?);

    // Whoever is faster answers: this process, or one that is running.
    let (stop, stopped) = watch::channel(false);
    let deltas = kit.worker.parts().deltas.follow();
    let worker = kit.worker.clone();
    let message = write(&kit, &key, parts).await?;
    let working = tokio::spawn(async move { worker.run(1, stopped).await });
    let patience = Duration::from_secs(command.timeout);
    let answered = answered(&kit, &key, message, patience);
    let answered = if command.output.json {
        answered.await
    } else {
        let conversation = kit.store.org(key.org).told(&key, ReadFrom::Newest, 0).await?;
        beside(conversation.map(|told| told.conversation), deltas, answered).await
    };
    stop.send_replace(true);
    working.await?;
    let (talk, run) = answered?;
    print(&talk, run, command.output.json)
}

/// Waits for an answer, and shows meanwhile what is being written.
async fn beside<T>(
    conversation: Option<ConversationId>,
    mut deltas: Receiver<Delta>,
    answered: impl Future<Output = T>,
) -> T {
    let mut draft = Draft::here();
    let mut answered = pin!(answered);
    let answered = loop {
        tokio::select! {
            done = &mut answered => break done,
            delta = deltas.recv() => match delta {
                Ok(delta) if Some(delta.conversation) != conversation => {}
                Ok(Delta { piece: Piece::Text { offset, text }, .. }) => draft.write(offset, &text),
                Ok(Delta { piece: Piece::DraftDiscarded, .. }) | Err(RecvError::Lagged(_)) => {
                    draft.clear();
                }
                Ok(_) => {}
                Err(RecvError::Closed) => break answered.await,
            },
        }
    };
    draft.clear();
    answered
}

fn print(talk: &Talk, run: RunId, json: bool) -> anyhow::Result<()> {
    let new: Vec<&Line> = talk.lines_of(run).collect();
    if json {
        return super::print_json(&new);
    }
    for line in new {
        match line {
            Line::Said { who, text, mark, .. } => {
                let mark = mark.as_ref().map_or_else(String::new, |mark| format!("  {mark}"));
                anstream::println!("{HEADER}{who}{HEADER:#}  {text}{QUIET}{mark}{QUIET:#}");
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
        let on = if names.is_empty() { "nothing yet".to_owned() } else { names.join(", ") };
        format!("{} is not on {channel}; it is on: {on}", org.name)
    })?;
    let peer = Peer::Person(command.contact.clone());
    Ok(ConversationKey { org: org.id, binding, peer, entry: EntryKind::Customer })
}

/// Writes as a customer.
pub(crate) async fn write(
    kit: &Kit,
    key: &ConversationKey,
    parts: Vec<Part>,
) -> anyhow::Result<InboxId> {
    let (Peer::Person(who) | Peer::Group(who)) = &key.peer;
    let id = format!("cli-{}", ostler_bus::next_id());
    let from = Writer { identifier: who.clone(), name: Some(capital(who)), locale: None };
    let provider_id = Some(id.clone());
    let entry = Entry::Wrote(Wrote { parts, from, provider_id, ..Wrote::default() });
    match kit.intake.accept(key.clone(), &id, &entry).await? {
        Accepted::New(id) | Accepted::Repeat(id) => Ok(id),
    }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Waits until a message is answered; the conversation, and the run that did.
pub(crate) async fn answered(
    kit: &Kit,
    key: &ConversationKey,
    message: InboxId,
    patience: Duration,
) -> anyhow::Result<(Talk, RunId)> {
    let wait = async {
        loop {
            if let Some(talk) = view::of_conversation(&kit.store, key).await?
                && let Some(run) = talk.runs.iter().find(|run| run.input.contains(&message))
            {
                let run = run.id;
                return anyhow::Ok((talk, run));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::time::timeout(patience, wait).await.unwrap_or_else(|_| {
        anyhow::bail!(
            "nobody has answered within {} s; the message {message} is kept, and whoever works here \
             answers it: look with `ostler session ls`, or at `ostler deadletter ls`",
            patience.as_secs()
        )
    })
}
