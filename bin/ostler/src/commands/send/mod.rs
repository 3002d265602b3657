//! `ostler send`: writes as a customer and prints the reply.

mod attachments;

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use ostler_domain::channel::Channel;
use ostler_domain::contact::SenderProof;
use ostler_domain::id::{ConversationId, InboxId, RunId};
use ostler_domain::message::MessagePart;
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_runtime::deltas::{Delta, DeltaContent};
use ostler_runtime::records::entry::{InboxEntry, IncomingMessage, MessageSender};
use ostler_store::{AcceptOutcome, Store, TranscriptStart};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use super::args::{OrgArgs, parse_text};
use super::session::view::{self, CallDetail, ConversationView, print_lines};
use crate::app::App;
use crate::installation::Installation;
use crate::model_uses::ModelUseRecorder;
use crate::screen::{DIM, print_paragraph};
use crate::stream_preview::StreamPreview;
use ostler_api::transcript::TranscriptLine;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler send --org bella --contact rosa \"Are you open on Monday?\"
  ostler send --org bella --contact otto --attach burnt.jpg \"Look at this!\"
  ostler send --org bella --contact otto --json \"I paid twice. Order 1234.\"
  ostler send --org bella --contact ada --owner \"What waits for a decision?\"")]
pub(crate) struct SendArgs {
    /// Text of the customer's message
    #[arg(value_name = "TEXT", required_unless_present = "attach", value_parser = parse_text)]
    text: Option<String>,
    /// File to attach, up to 20 MiB; up to ten files
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Customer, as the channel knows them: a name, an e-mail address or a telephone number
    #[arg(long, value_name = "NAME", value_parser = parse_text)]
    contact: String,
    /// Write as the owner of the org, who reaches its PM
    #[arg(long)]
    owner: bool,
    /// Channel, by its name in world files or its kind
    #[arg(long, value_name = "CHANNEL", default_value = "webchat")]
    channel: String,
    /// How long to wait for the reply, in seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    timeout: u64,
    #[command(flatten)]
    target: OrgArgs,
}

/// How often the store is polled for a reply, which another process may give.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) async fn run(args: &SendArgs) -> anyhow::Result<()> {
    let installation = Installation::find(&args.target.installation)?;
    let files = attachments::read(&args.attach)?;
    let app = App::open(&installation).await?;
    let key = conversation_key(&app.store, args).await?;
    let mut parts: Vec<MessagePart> = args.text.iter().map(MessagePart::text).collect();
    parts.extend(attachments::store(&app.store, key.org, files).await?);

    // The message is answered by this process, or by another one if that is faster.
    let (stop, stopped) = watch::channel(false);
    let deltas = app.worker.deps().deltas.follow();
    let worker = app.worker.clone();
    let model_uses = ModelUseRecorder::new(&app.store, &app.catalogue);
    let message = accept(&app, &key, parts).await?;
    let task = tokio::spawn(async move { worker.run(1, stopped).await });
    let timeout = Duration::from_secs(args.timeout);
    let reply = wait_for_reply(&app, &key, message, timeout);
    let reply = if args.target.output.json {
        reply.await
    } else {
        let conversation =
            app.store.org(key.org).transcript(&key, TranscriptStart::Newest, 0).await?;
        preview_until(conversation.map(|transcript| transcript.conversation), deltas, reply).await
    };
    stop.send_replace(true);
    task.await?;
    model_uses.record().await;
    let (view, run) = reply?;
    print(&view, run, args.target.output.json)
}

/// Waits for the reply, and meanwhile shows the text that the model streams.
async fn preview_until<T>(
    conversation: Option<ConversationId>,
    mut deltas: Receiver<Delta>,
    reply: impl Future<Output = T>,
) -> T {
    let mut preview = StreamPreview::new();
    let mut reply = pin!(reply);
    let reply = loop {
        tokio::select! {
            done = &mut reply => break done,
            delta = deltas.recv() => match delta {
                Ok(delta) if Some(delta.conversation) != conversation => {}
                Ok(Delta { content: DeltaContent::Text { offset, text }, .. }) => preview.append(offset, &text),
                Ok(Delta { content: DeltaContent::DraftDiscarded, .. }) | Err(RecvError::Lagged(_)) => {
                    preview.clear();
                }
                Ok(_) => {}
                Err(RecvError::Closed) => break reply.await,
            },
        }
    };
    preview.clear();
    reply
}

fn print(view: &ConversationView, run: RunId, json: bool) -> anyhow::Result<()> {
    let lines: Vec<&TranscriptLine> = view.lines_of(run).collect();
    if json {
        return super::print_json(&lines);
    }
    print_lines(lines, 0, CallDetail::Brief);
    print_paragraph(&view::describe_state(&view.transcript.session), DIM);
    Ok(())
}

/// Returns the key of the contact's conversation on a channel of an org.
async fn conversation_key(store: &Store, args: &SendArgs) -> anyhow::Result<ConversationKey> {
    let org = super::find_org(store, &args.target.org).await?;
    let (name, channel) = (&args.channel, Channel::from(args.channel.as_str()));
    let mut bindings = store.org(org.id).bindings(None, 100).await?;
    bindings.retain(|bound| bound.binding.enabled);
    let named = bindings.iter().find(|bound| bound.binding.name() == *name);
    let enabled = named.or_else(|| bindings.iter().find(|bound| bound.binding.channel == channel));
    let binding = enabled.map(|bound| bound.binding.id).with_context(|| {
        let names: Vec<String> = bindings.iter().map(|bound| bound.binding.name()).collect();
        let connected = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("{} has no channel {name}; its channels: {connected}", org.name)
    })?;
    let peer = Peer::Person(args.contact.clone());
    let entry = if args.owner { ConversationEntry::Owner } else { ConversationEntry::Customer };
    Ok(ConversationKey { org: org.id, binding, peer, entry })
}

/// Puts a message of the customer into the inbox.
pub(crate) async fn accept(
    app: &App,
    key: &ConversationKey,
    parts: Vec<MessagePart>,
) -> anyhow::Result<InboxId> {
    let (Peer::Person(name) | Peer::Group(name)) = &key.peer;
    let id = format!("cli-{}", ostler_bus::next_id());
    let from = MessageSender {
        identifier: name.clone(),
        name: is_name(name).then(|| capitalize(name)),
        locale: None,
        proof: SenderProof::Proven,
    };
    let provider_id = Some(id.clone());
    let entry = InboxEntry::Message(IncomingMessage {
        parts,
        from,
        provider_id,
        ..IncomingMessage::default()
    });
    match app.intake.accept(key.clone(), &id, &entry).await? {
        AcceptOutcome::New(id) | AcceptOutcome::Duplicate(id) => Ok(id),
    }
}

/// Returns whether the identifier of a customer can stand for the name: an address or a number
/// cannot.
fn is_name(identifier: &str) -> bool {
    !identifier.contains('@') && identifier.chars().any(char::is_alphabetic)
}

fn capitalize(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Waits until a message is answered, and returns the conversation and the run that
/// answered it.
pub(crate) async fn wait_for_reply(
    app: &App,
    key: &ConversationKey,
    message: InboxId,
    timeout: Duration,
) -> anyhow::Result<(ConversationView, RunId)> {
    let wait = async {
        loop {
            if let Some(view) = view::newest_session(app, key).await?
                && let Some(run) = view.runs.iter().find(|run| run.input.contains(&message))
            {
                let run = run.id;
                return anyhow::Ok((view, run));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(timeout, wait).await.unwrap_or_else(|_| {
        anyhow::bail!(
            "no reply within {} s; the message {message} is stored and will be answered by a running \
             `ostler serve` or `ostler worker`; see `ostler session ls` and `ostler dead-letter ls`",
            timeout.as_secs()
        )
    })
}
