//! What can be typed about conversations.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ostler_domain::id::RunId;

use super::Output;
use super::operate::{Assign, OnSession, Say};

/// Where an installation is.
#[derive(Debug, Args)]
pub(crate) struct At {
    /// The folder of the installation, with its ostler.toml; the one of the
    /// demonstration if there is one here
    #[arg(long, value_name = "FOLDER", env = "OSTLER_HOME")]
    pub(crate) home: Option<PathBuf>,
    /// The database, if it is not the one of the folder: sqlite:PATH or postgres://…
    #[arg(long, value_name = "URL", env = "OSTLER_DATABASE_URL", hide_env_values = true)]
    pub(crate) database: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Where the world is kept
    #[arg(long, value_name = "FOLDER", default_value = "target/demo")]
    pub(crate) home: PathBuf,
    /// Forget what happened and begin anew
    #[arg(long)]
    pub(crate) reset: bool,
    /// Play the story and end
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Work {
    /// How many conversations are answered at once
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(crate) at_once: usize,
    #[command(flatten)]
    pub(crate) at: At,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen; anything but a loopback address lets others in
    #[arg(long, value_name = "ADDRESS", env = "OSTLER_LISTEN")]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) work: Work,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// What the customer writes
    #[arg(value_name = "TEXT", required_unless_present = "attach")]
    pub(crate) text: Option<String>,
    /// A file beside it: a picture, a recording, anything up to 20 MiB; up to ten
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// The org, by its slug or its id
    #[arg(long, value_name = "ORG")]
    pub(crate) org: String,
    /// Who writes: what the channel calls them
    #[arg(long, value_name = "NAME")]
    pub(crate) contact: String,
    /// The channel
    #[arg(long, value_name = "CHANNEL", default_value = "webchat")]
    pub(crate) channel: String,
    /// How long to wait for the reply, in seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// List sessions, newest first
    #[command(after_help = "\
Examples:
  ostler session ls --org bella
  ostler session ls --org bella --waiting --json")]
    Ls(SessionLs),
    /// Show a conversation with every decision
    #[command(after_help = "\
Examples:
  ostler session show ses_…9d
  ostler session show rosa --org bella --json")]
    Show(OnSession),
    /// Take a conversation over: its agents fall silent at once
    #[command(
        visible_alias = "pause",
        after_help = "\
Examples:
  ostler session take-over ses_…9d
  ostler session take-over rosa --org bella

Agents are silent until you hand back with `ostler session resume`; whether you
write meanwhile is up to you."
    )]
    TakeOver(OnSession),
    /// Write to the customer of a conversation that you have taken over
    #[command(after_help = "\
Examples:
  ostler session say \"Hello Rosa, this is Ada. I am looking into it.\" rosa")]
    Say(Say),
    /// Hand a conversation back to its agent, which learns what you said
    #[command(after_help = "\
Examples:
  ostler session resume rosa --org bella")]
    Resume(OnSession),
    /// Call an escalation a false alarm: the agent answers
    #[command(after_help = "\
Examples:
  ostler session dismiss rosa --org bella")]
    Dismiss(OnSession),
    /// Close a conversation
    #[command(after_help = "\
Examples:
  ostler session close rosa --org bella")]
    Close(OnSession),
    /// Make several agents a team in a conversation
    #[command(after_help = "\
Examples:
  ostler session assign rosa --org bella --agents enzo,gia")]
    Assign(Assign),
}

#[derive(Debug, Args)]
pub(crate) struct SessionLs {
    /// The org; all of them if none is named
    #[arg(long, value_name = "ORG")]
    pub(crate) org: Option<String>,
    /// Only those that wait for a person
    #[arg(long)]
    pub(crate) waiting: bool,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Harness {
    /// Show the harness that an agent worked in: all nine groups
    #[command(after_help = "\
Examples:
  ostler harness show run_01jd0v4k9pf2ht6z3m8w5x7ybc
  ostler harness show run_01jd0v4k9pf2ht6z3m8w5x7ybc --json")]
    Show(HarnessShow),
}

#[derive(Debug, Args)]
pub(crate) struct HarnessShow {
    /// The run
    #[arg(value_name = "RUN")]
    pub(crate) run: RunId,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) output: Output,
}
