//! `ostler session say`.

use clap::Args;
use ostler_domain::message::MessagePart;

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
    let (operator, org, id) = open_session(&args.session).await?;
    let parts = vec![MessagePart::text(args.text.clone())];
    let session = operator.org(&org).say(id, parts).await?;
    print_session(&args.session, &session, "sent")
}
