//! What can be typed to operate an installation.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use ostler_domain::id::{CallId, DocumentId, KeyId, NoticeId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::SecretRef;

use super::Output;
use super::talk::At;

/// In which org something is done.
#[derive(Debug, Args)]
pub(crate) struct In {
    /// The org, by its slug or its id
    #[arg(long, value_name = "ORG")]
    pub(crate) org: String,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Approval {
    /// List the calls that wait for a person
    #[command(after_help = "\
Examples:
  ostler approval ls --org bella
  ostler approval ls --org bella --json")]
    Ls(In),
    /// Let a call run, once, under the policy of now
    #[command(after_help = "\
Examples:
  ostler approval approve apr_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler approval approve …7ybc --org bella --with '{\"order\": \"1234\", \"amount\": \"5.00\", \"reason\": \"half of it\"}'")]
    Approve(Approve),
    /// Say no, and why; the agent is told
    #[command(after_help = "\
Examples:
  ostler approval reject apr_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --reason \"it was eaten\"")]
    Reject(Reject),
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The approval, or the end of its id
    #[arg(value_name = "APPROVAL")]
    pub(crate) approval: String,
    /// Run it with these arguments instead, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) with: Option<String>,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct Reject {
    /// The approval, or the end of its id
    #[arg(value_name = "APPROVAL")]
    pub(crate) approval: String,
    /// Why not
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) place: In,
}

/// A session that is acted on.
#[derive(Debug, Args)]
pub(crate) struct OnSession {
    /// The session: its id, the end of its id, or what the channel calls the person
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    /// The org, if several have one of that name
    #[arg(long, value_name = "ORG")]
    pub(crate) org: Option<String>,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Say {
    /// What the customer reads, word for word
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) on: OnSession,
}

#[derive(Debug, Args)]
pub(crate) struct Assign {
    /// The agents, by slug; the first of them answers
    #[arg(long, value_name = "AGENTS", value_delimiter = ',', required = true)]
    pub(crate) agents: Vec<String>,
    #[command(flatten)]
    pub(crate) on: OnSession,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Escalation {
    /// List the conversations that wait for a person, the most pressing first
    #[command(after_help = "\
Examples:
  ostler escalation ls --org bella")]
    Ls(In),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Credit {
    /// Show what an org has
    #[command(after_help = "\
Examples:
  ostler credit show --org bella")]
    Show(In),
    /// Give an org credits
    #[command(after_help = "\
Examples:
  ostler credit grant 500 --org bella --reference invoice-2026-17")]
    Grant(Grant),
    /// Show the ledger, newest first
    #[command(after_help = "\
Examples:
  ostler credit lines --org bella --json")]
    Lines(In),
}

#[derive(Debug, Args)]
pub(crate) struct Grant {
    /// How many
    #[arg(value_name = "CREDITS")]
    pub(crate) amount: u64,
    /// What for; the same is granted once
    #[arg(long, value_name = "TEXT")]
    pub(crate) reference: String,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Deadletter {
    /// List messages that could not be answered or sent
    #[command(after_help = "\
Examples:
  ostler deadletter ls --org bella")]
    Ls(In),
    /// Try one again
    #[command(after_help = "\
Examples:
  ostler deadletter replay out_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella")]
    Replay(Letter),
    /// Lay one aside for good
    #[command(after_help = "\
Examples:
  ostler deadletter abandon out_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --reason \"the number is gone\"")]
    Abandon(Abandon),
}

#[derive(Debug, Args)]
pub(crate) struct Letter {
    /// The message: an id that begins with inb_ or out_
    #[arg(value_name = "MESSAGE")]
    pub(crate) letter: String,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct Abandon {
    #[command(flatten)]
    pub(crate) letter: Letter,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Knowledge {
    /// Add a document that agents may read: Markdown, text, or the words of a PDF
    #[command(after_help = "\
Examples:
  ostler knowledge add menu.md --org bella --tags menu,prices
  ostler knowledge add allergens.pdf --org bella --title \"Allergens\"")]
    Add(KnowledgeAdd),
    /// List documents
    #[command(after_help = "\
Examples:
  ostler knowledge ls --org bella")]
    Ls(In),
    /// Remove a document
    #[command(after_help = "\
Examples:
  ostler knowledge rm doc_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella")]
    Rm(KnowledgeRm),
}

#[derive(Debug, Args)]
pub(crate) struct KnowledgeAdd {
    /// The file, in UTF-8 or a PDF with text in it
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Its title; otherwise its first heading, or its name
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Words that agents are told by which documents are theirs
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct KnowledgeRm {
    /// The document
    #[arg(value_name = "DOCUMENT")]
    pub(crate) document: DocumentId,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Outcome {
    /// List calls of which nobody knows what became
    #[command(after_help = "\
Examples:
  ostler outcome ls --org bella

Messages that may or may not have been sent are in `ostler deadletter ls`.")]
    Ls(In),
    /// Say what became of a call; the agent goes on with that
    #[command(after_help = "\
Examples:
  ostler outcome resolve cal_01jd0v4k9pf2ht6z3m8w5x7ybc \"The payment was made once.\" --org bella")]
    Resolve(Resolve),
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The call
    #[arg(value_name = "CALL")]
    pub(crate) call: CallId,
    /// What became of it, in words that the agent reads
    #[arg(value_name = "TEXT")]
    pub(crate) outcome: String,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Notice {
    /// List what the org's owner was told and has not read, oldest first
    #[command(after_help = "\
Examples:
  ostler notice ls --org bella
  ostler notice ls --org bella --json")]
    Ls(In),
    /// Mark notices as read
    #[command(after_help = "\
Examples:
  ostler notice read ntc_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler notice read --all --org bella")]
    Read(NoticeRead),
}

#[derive(Debug, Args)]
pub(crate) struct NoticeRead {
    /// The notices
    #[arg(value_name = "NOTICE", required_unless_present = "all")]
    pub(crate) notices: Vec<NoticeId>,
    /// Every one that is listed
    #[arg(long, conflicts_with = "notices")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Integration {
    /// List the services that tools can use, and which of them are connected
    #[command(after_help = "\
Examples:
  ostler integration ls --org bella")]
    Ls(In),
    /// Connect a service, so that the tools on it are there
    #[command(after_help = "\
Examples:
  ostler integration connect payments --org bella
  UNSPLASH_ACCESS_KEY=… ostler integration connect unsplash --org bella
  ostler integration connect unsplash --org bella \\
      --secret env:OSTLER_SECRET_ORG_01JD0V4K9PF2HT6Z3M8W5X7YBC_UNSPLASH

A key is named, never written down: env:NAME or file:PATH. Whoever runs the
agents reads it there; an org may name its own variables, which begin with
OSTLER_SECRET_ and its id, and files in its folder below secrets/.")]
    Connect(Connect),
    /// Take a service away from an org's tools
    #[command(after_help = "\
Examples:
  ostler integration disconnect unsplash --org bella")]
    Disconnect(Disconnect),
}

#[derive(Debug, Args)]
pub(crate) struct Connect {
    /// The service
    #[arg(value_name = "SERVICE")]
    pub(crate) service: String,
    /// Where its key is kept: env:NAME or file:PATH
    #[arg(long, value_name = "PLACE")]
    pub(crate) secret: Option<SecretRef>,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct Disconnect {
    /// The service
    #[arg(value_name = "SERVICE")]
    pub(crate) service: String,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key for a program; it is shown once
    #[command(after_help = "\
Examples:
  ostler key create \"night shift\" --org bella
  ostler key create reporting --org bella --role viewer --days 30")]
    Create(KeyCreate),
    /// List keys, the revoked ones too
    #[command(after_help = "\
Examples:
  ostler key ls --org bella")]
    Ls(In),
    /// Make a key useless from now on
    #[command(after_help = "\
Examples:
  ostler key revoke key_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella")]
    Revoke(KeyRevoke),
}

#[derive(Debug, Args)]
pub(crate) struct KeyCreate {
    /// What it is for
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What it may do: viewer, operator, admin or owner
    #[arg(long, value_name = "ROLE", default_value = "operator")]
    pub(crate) role: Role,
    /// After how many days it is of no use; never if this is not said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub(crate) days: Option<u32>,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct KeyRevoke {
    /// The key
    #[arg(value_name = "KEY")]
    pub(crate) key: KeyId,
    #[command(flatten)]
    pub(crate) place: In,
}

/// One of those that are known, by its id or by the end of it.
pub(crate) fn named<I: Copy + Display + FromStr>(text: &str, known: &[I]) -> Option<I> {
    let end = text.rsplit('…').next().unwrap_or(text);
    let exact = text.parse().ok();
    exact.or_else(|| {
        let mut fitting = known.iter().filter(|id| end.len() >= 2 && id.to_string().ends_with(end));
        fitting.next().copied()
    })
}
