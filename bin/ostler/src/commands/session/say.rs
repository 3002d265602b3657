//! `ostler session say`.

use clap::Args;
use ostler_api::session::SendMessageRequest;

use super::{SessionArgs, open_session, print_session};
use crate::commands::args::parse_text;

#[derive(Debug, Args)]
pub(crate) struct SayArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Text, which the customer gets word for word
    #[arg(value_name = "TEXT", value_parser = parse_text)]
    text: String,
}

pub(super) async fn run(args: &SayArgs) -> anyhow::Result<()> {
    let (org, session) = open_session(&args.session).await?;
    let message = SendMessageRequest { text: args.text.clone() };
    let session = org.post(&["sessions", &session.id.to_string(), "messages"], &message).await?;
    print_session(&args.session, &session, "sent")
}
