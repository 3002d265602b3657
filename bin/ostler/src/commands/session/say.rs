//! `ostler session say`.

use clap::Args;
use ostler_domain::message::MessagePart;

use super::{SessionArgs, open_session, print_session};

#[derive(Debug, Args)]
pub(crate) struct SayArgs {
    /// Text, which the customer gets word for word
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    session: SessionArgs,
}

pub(super) async fn run(args: &SayArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_session(&args.session).await?;
    let parts = vec![MessagePart::text(args.text.clone())];
    let session = operator.org(&org).say(id, parts).await?;
    print_session(&args.session, &session, "sent")
}
