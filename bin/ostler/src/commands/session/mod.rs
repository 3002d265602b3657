//! `ostler session`: conversations, and what people do with them.

mod assign;
pub(crate) mod find;
mod ls;
mod note;
mod resume;
mod say;
mod search;
mod show;
mod take_over;
mod unassign;
pub(crate) mod view;

use clap::{Args, Subcommand};
use ostler_api::session::Session;

use super::args::{InstallationArgs, OutputArgs};
use crate::api_client::OrgApi;
use crate::config::keys;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List sessions, newest first
    #[command(after_help = "\
Examples:
  ostler session ls --org bella
  ostler session ls --org bella --waiting --json")]
    Ls(ls::SessionLsArgs),
    /// Show a conversation with every decision
    #[command(after_help = "\
Examples:
  ostler session show ses_…9d
  ostler session show rosa --org bella --json")]
    Show(SessionArgs),
    /// Take a conversation over; its agents stop answering at once
    #[command(
        visible_alias = "pause",
        after_help = "\
Examples:
  ostler session take-over ses_…9d
  ostler session take-over rosa --org bella

The agents do not answer until you hand the conversation back with
`ostler session resume`. You can write to the customer in the meantime, or not."
    )]
    TakeOver(SessionArgs),
    /// Write to the customer of a conversation that you have taken over
    #[command(after_help = "\
Examples:
  ostler session say rosa \"Hello Rosa, this is Ada. I am looking into it.\"")]
    Say(say::SayArgs),
    /// Hand a conversation back to its agent, which reads what you wrote and answers what the
    /// customer wrote since
    #[command(
        visible_alias = "hand-back",
        after_help = "\
Examples:
  ostler session resume rosa --org bella
  ostler session resume rosa --org bella --resolution \"The refund is paid.\""
    )]
    Resume(resume::ResumeArgs),
    /// Dismiss an escalation as a false alarm; the agent answers
    #[command(after_help = "\
Examples:
  ostler session dismiss rosa --org bella")]
    Dismiss(SessionArgs),
    /// Close a conversation
    #[command(after_help = "\
Examples:
  ostler session close rosa --org bella")]
    Close(SessionArgs),
    /// Assign a conversation to a person who looks after it, or to a team of agents
    #[command(after_help = "\
Examples:
  ostler session assign rosa --org bella --to eva@example.com
  ostler session assign rosa --org bella --agents enzo,gia

A person who looks after a conversation gets a notice and finds it in the inbox. The
agents go on answering until somebody takes the conversation over.")]
    Assign(assign::AssignArgs),
    /// Leave a conversation to nobody in particular
    #[command(after_help = "\
Examples:
  ostler session unassign rosa --org bella")]
    Unassign(SessionArgs),
    /// Show the notes about a conversation, or add one
    #[command(after_help = "\
Examples:
  ostler session note rosa --org bella
  ostler session note rosa --org bella \"She called yesterday, see the order.\"

Neither the customer nor an agent reads notes. They are deleted with the contact.")]
    Note(note::NoteArgs),
    /// Find messages by the beginnings of their words
    #[command(after_help = "\
Examples:
  ostler session search --org bella refund espresso")]
    Search(search::SearchArgs),
}

/// The session that a command works on.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Session: its id, the end of its id, or the name of the contact or its beginning
    #[arg(value_name = "SESSION")]
    session: String,
    /// Org, if several have a session of that name
    #[arg(long, value_name = "ORG", env = keys::ORG)]
    org: Option<String>,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(command: &SessionCommand) -> anyhow::Result<()> {
    match command {
        SessionCommand::Ls(args) => ls::run(args).await,
        SessionCommand::Show(args) => show::run(args).await,
        SessionCommand::TakeOver(args) => take_over::run(args).await,
        SessionCommand::Say(args) => say::run(args).await,
        SessionCommand::Resume(args) => resume::run(args).await,
        SessionCommand::Dismiss(args) => {
            change(args, "dismiss", "dismissed; the agent answers").await
        }
        SessionCommand::Close(args) => change(args, "close", "closed").await,
        SessionCommand::Assign(args) => assign::run(args).await,
        SessionCommand::Unassign(args) => unassign::run(args).await,
        SessionCommand::Note(args) => note::run(args).await,
        SessionCommand::Search(args) => search::run(args).await,
    }
}

/// Opens the installation or server and finds the session that the arguments name.
async fn open_session(args: &SessionArgs) -> anyhow::Result<(OrgApi, Session)> {
    find::find_session(&args.installation, &args.session, args.org.as_deref()).await
}

/// Does something with a session and prints the session after it.
async fn change(args: &SessionArgs, verb: &str, text: &str) -> anyhow::Result<()> {
    let (org, session) = open_session(args).await?;
    let session = org.post(&["sessions", &session.id.to_string(), verb], &()).await?;
    print_session(args, &session, text)
}

/// Prints a session after an action, with its state.
fn print_session(args: &SessionArgs, session: &Session, text: &str) -> anyhow::Result<()> {
    if args.output.json {
        return super::print_json(session);
    }
    anstream::println!("{}  {text}\n{}", session.id, view::describe_state(session));
    Ok(())
}
