//! `ostler notice`: the notices to the owner and the members of an org, and where they are
//! sent.

mod ack;
mod choices;
mod ls;
mod set;
mod show;

use anyhow::Context as _;
use clap::Subcommand;
use ostler_api::notice::Notice;
use ostler_domain::audit::AuditActor;
use ostler_domain::id::NoticeId;

use super::args::match_id;
use crate::api_client::OrgApi;

/// The most notices that are listed, or acknowledged by `--all`.
const LIST_LIMIT: usize = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum NoticeCommand {
    /// List the notices that wait for somebody, oldest first
    #[command(after_help = "\
Examples:
  ostler notice ls
  ostler notice ls --all --org bella
  ostler notice ls --org bella --json")]
    Ls(ls::NoticeLsArgs),
    /// Show a notice: what it says, where it was sent and whether it arrived
    #[command(after_help = "\
Examples:
  ostler notice show ntc_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler notice show …7ybc --org bella --json")]
    Show(show::NoticeShowArgs),
    /// Acknowledge notices, so that nobody is notified of them again
    #[command(
        alias = "read",
        after_help = "\
Examples:
  ostler notice ack ntc_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler notice ack --all --org bella"
    )]
    Ack(ack::NoticeAckArgs),
    /// Choose where notices go, and when; without a change, show what is chosen
    #[command(after_help = "\
Examples:
  ostler notice set --org bella
  ostler notice set approvals=chat,email handoffs=digest tools=none --org bella
  ostler notice set --quiet 22:00-07:00 --urgent wait --org bella
  ostler notice set --digest-at 18:00 --digest-to email --org bella
  ostler notice set --for anna@bella.example --chat bot:4711 credits=chat \\
      --org bella

Topics: approvals, escalations, credits, models, tools, dead_letters, unknown_outcomes,
workflows, handoffs, organizations. Destinations: chat, email, team_group, digest, or none.")]
    Set(Box<set::NoticeSetArgs>),
}

pub(crate) async fn run(command: &NoticeCommand) -> anyhow::Result<()> {
    match command {
        NoticeCommand::Ls(args) => ls::run(args).await,
        NoticeCommand::Show(args) => show::run(args).await,
        NoticeCommand::Ack(args) => ack::run(args).await,
        NoticeCommand::Set(args) => set::run(args).await,
    }
}

/// Returns the notice that a text names: an id, or the end of one that is listed.
async fn find(org: &OrgApi, name: &str) -> anyhow::Result<NoticeId> {
    let listed: Vec<Notice> = org.list(&["notices"], &[("all", "true")], LIST_LIMIT).await?;
    let known: Vec<NoticeId> = listed.iter().map(|notice| notice.id).collect();
    match_id(name, &known)?
        .with_context(|| format!("no notice `{name}`; `ostler notice ls --all` lists them"))
}

/// Returns who acknowledged a notice, as text.
fn actor_text(actor: AuditActor) -> String {
    match actor {
        AuditActor::User(id) => id.to_string(),
        AuditActor::Key(id) => id.to_string(),
        AuditActor::Agent(id) => id.to_string(),
        AuditActor::Terminal => "terminal".to_owned(),
        AuditActor::System => "system".to_owned(),
    }
}
