//! `ostler session resume`.

use clap::Args;
use ostler_api::session::ResumeRequest;

use super::{SessionArgs, open_session, print_session};
use crate::commands::args::parse_text;

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// What the agent is told besides what you wrote to the customer
    #[arg(long, value_name = "TEXT", value_parser = parse_text)]
    resolution: Option<String>,
}

pub(super) async fn run(args: &ResumeArgs) -> anyhow::Result<()> {
    let (org, session) = open_session(&args.session).await?;
    let body = ResumeRequest { resolution: args.resolution.clone() };
    let session = org.post(&["sessions", &session.id.to_string(), "resume"], &body).await?;
    let text =
        "handed back; the agent reads what you wrote, and answers what the customer wrote since";
    print_session(&args.session, &session, text)
}
