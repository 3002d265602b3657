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

#[cfg(test)]
mod tests {
    use ostler_api::channel_test::{ChannelTestResult, TestMessageResult};

    use super::result_of;

    #[test]
    fn a_failed_test_of_a_channel_is_a_failure() {
        let check = |works, receive_failure: Option<&str>, delivered: Option<bool>, expected| {
            let message = delivered.map(|delivered| TestMessageResult { delivered, reason: None });
            let receive_failure = receive_failure.map(str::to_owned);
            let test = ChannelTestResult { works, detail: String::new(), receive_failure, message };
            assert_eq!(result_of(&test).is_ok(), expected, "{test:?}");
        };
        check(true, None, None, true);
        check(true, None, Some(true), true);
        check(true, None, Some(false), false);
        check(true, Some("no webhook"), None, false);
        check(false, None, None, false);
    }
}
