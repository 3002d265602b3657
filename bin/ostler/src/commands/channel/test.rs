//! `ostler channel test`.

use clap::Args;
use ostler_api::channel_test::{ChannelTestRequest, ChannelTestResult};

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::print_json;
use crate::screen::{BAD, GOOD};

#[derive(Debug, Args)]
pub(crate) struct ChannelTestArgs {
    /// Channel, by name or id
    #[arg(value_name = "CHANNEL")]
    channel: String,
    /// Send a test message to this address on the channel
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ChannelTestArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let request = ChannelTestRequest { to: args.to.clone() };
    let test: ChannelTestResult = org.post(&["channels", &args.channel, "test"], &request).await?;
    if args.target.output.json {
        print_json(&test)?;
        return result_of(&test);
    }
    let (sign, style) = if test.works { ("✓", GOOD) } else { ("✗", BAD) };
    anstream::println!("{style}{sign}{style:#} {}", test.detail);
    if let Some(reason) = &test.receive_failure {
        anstream::println!("{BAD}✗{BAD:#} messages cannot be received: {reason}");
    }
    match &test.message {
        Some(sent) if sent.delivered => {
            anstream::println!("{GOOD}✓{GOOD:#} the test message was delivered");
        }
        Some(sent) => {
            let reason = sent.reason.as_deref().unwrap_or_default();
            anstream::println!("{BAD}✗{BAD:#} the test message was not delivered: {reason}");
        }
        None => {}
    }
    result_of(&test)
}

/// Scripts learn from the exit status whether the channel works.
fn result_of(test: &ChannelTestResult) -> anyhow::Result<()> {
    let is_delivered = test.message.as_ref().is_none_or(|sent| sent.delivered);
    let works = test.works && test.receive_failure.is_none() && is_delivered;
    anyhow::ensure!(works, "the test of the channel failed");
    Ok(())
}
