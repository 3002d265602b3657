//! `ostler send`: writes as a customer and prints the reply.

mod attachments;

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use ostler_api::contact_message::{AcceptedContactMessage, ContactReply, NewContactMessage};
use ostler_api::transcript::{Transcript, TranscriptLine};
use ostler_domain::id::{ConversationId, RunId};
use ostler_runtime::deltas::{Delta, DeltaContent};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use super::args::{OrgArgs, parse_text};
use super::session::view::{self, CallDetail, print_lines};
use crate::api_client::{ApiClient, OrgApi};
use crate::app::App;
use crate::screen::{DIM, print_paragraph};
use crate::stream_preview::StreamPreview;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler send --org bella --contact rosa \"Are you open on Monday?\"
  ostler send --org bella --contact otto --attach burnt.jpg \"Look at this!\"
  ostler send --org bella --contact otto --json \"I paid twice. Order 1234.\"
  ostler send --org bella --contact ada --owner \"What waits for a decision?\"

On a server, the message is marked as written by staff, and its sender is not proven:
agents show it no personal records. Only owners write there as the owner.")]
pub(crate) struct SendArgs {
    /// Text of the customer's message
    #[arg(value_name = "TEXT", required_unless_present = "attach", value_parser = parse_text)]
    text: Option<String>,
    /// File to attach, up to 20 MiB, on a server all of them; up to ten files
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

/// How often the reply is asked for on this machine.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How often the reply is asked for on a server.
const SERVER_POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: &SendArgs) -> anyhow::Result<()> {
    let message = NewContactMessage {
        channel: args.channel.clone(),
        contact: args.contact.clone(),
        as_owner: args.owner,
        text: args.text.clone(),
        files: attachments::read(&args.attach)?,
    };
    let (api, app) = ApiClient::open_with_app(&args.target.installation).await?;
    let org = api.find_org(&args.target.org).await?;
    let accepted: AcceptedContactMessage = org.post(&["contact-messages"], &message).await?;
    let timeout = Duration::from_secs(args.timeout);
    let replied = match &app {
        Some(app) => {
            answer_here(app, args, &accepted, wait(&org, &accepted, timeout, POLL_INTERVAL)).await
        }
        None => wait(&org, &accepted, timeout, SERVER_POLL_INTERVAL).await,
    };
    let (transcript, run) = replied?;
    print(&transcript, run, args.target.output.json)
}

/// Answers in this process, unless another one is faster, until the reply is there.
async fn answer_here<T>(
    app: &App,
    args: &SendArgs,
    accepted: &AcceptedContactMessage,
    reply: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let (stop, stopped) = watch::channel(false);
    let deltas = app.worker.deps().deltas.follow();
    let worker = app.worker.clone();
    let task = tokio::spawn(async move { worker.run(1, stopped).await });
    let reply = if args.target.output.json {
        reply.await
    } else {
        preview_until(accepted.conversation, deltas, reply).await
    };
    stop.send_replace(true);
    task.await?;
    app.model_uses.record().await;
    reply
}

/// Waits for the reply, and meanwhile shows the text that the model streams.
async fn preview_until<T>(
    conversation: ConversationId,
    mut deltas: Receiver<Delta>,
    reply: impl Future<Output = T>,
) -> T {
    let mut preview = StreamPreview::new();
    let mut reply = pin!(reply);
    let reply = loop {
        tokio::select! {
            done = &mut reply => break done,
            delta = deltas.recv() => match delta {
                Ok(delta) if delta.conversation != conversation => {}
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

fn print(transcript: &Transcript, run: RunId, json: bool) -> anyhow::Result<()> {
    let lines = transcript.lines.iter().filter(|line| line.run() == Some(run));
    let lines: Vec<&TranscriptLine> = lines.collect();
    if json {
        return super::print_json(&lines);
    }
    print_lines(lines, 0, CallDetail::Brief);
    print_paragraph(&view::describe_state(&transcript.session), DIM);
    Ok(())
}

/// Waits until a message is answered, and returns the conversation and the run that answered it.
async fn wait(
    org: &OrgApi,
    accepted: &AcceptedContactMessage,
    timeout: Duration,
    interval: Duration,
) -> anyhow::Result<(Transcript, RunId)> {
    let message = &accepted.id;
    let path = ["contact-messages", &accepted.channel.to_string(), message];
    let answered = async {
        loop {
            let reply: ContactReply = org.get(&path).await?;
            if let ContactReply { run: Some(run), session: Some(session) } = reply {
                let path = ["sessions", &session.to_string(), "transcript"];
                return anyhow::Ok((org.get::<Transcript>(&path).await?, run));
            }
            tokio::time::sleep(interval).await;
        }
    };
    tokio::time::timeout(timeout, answered).await.unwrap_or_else(|_| {
        anyhow::bail!(
            "no reply within {} s; the message {message} is stored and will be answered by a running \
             `ostler serve` or `ostler worker`; see `ostler session ls` and `ostler dead-letter ls`",
            timeout.as_secs()
        )
    })
}
