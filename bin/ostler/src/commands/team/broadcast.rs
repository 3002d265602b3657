//! `ostler team broadcast`.

use clap::Args;
use ostler_api::team_message::{SentBroadcast, TeamBroadcast, UnreachedAgent};
use ostler_domain::queue_agent::name::TeamName;
use serde_json::json;

use super::start_members;
use crate::commands::args::{BusArgs, MessageArgs};
use crate::queue_api::with_queues;
use crate::screen::{DIM, HEADER};

#[derive(Debug, Args)]
pub(crate) struct TeamBroadcastArgs {
    /// Team
    #[arg(value_name = "TEAM")]
    name: TeamName,
    #[command(flatten)]
    message: MessageArgs,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &TeamBroadcastArgs) -> anyhow::Result<()> {
    let message = TeamBroadcast {
        text: args.message.text.clone(),
        kind: Some(args.message.kind.to_string()),
    };
    let path = ["queue-teams", args.name.as_str(), "messages"];
    let sent: SentBroadcast = with_queues(&args.bus, async |queues| {
        let members = start_members(queues, &args.name).await?;
        let sent = queues.org.post(&path, &message).await?;
        queues.wait_until_handled(&members).await?;
        Ok(sent)
    })
    .await?;
    let SentBroadcast { message, reference, told, missed } = &sent;
    if args.bus.output.json {
        let missed: Vec<_> = missed.iter().map(|one| &one.agent).collect();
        let report =
            json!({"message": message, "reference": reference, "told": told, "missed": missed});
        return crate::commands::print_json(&report);
    }
    anstream::println!("{HEADER}{reference}{HEADER:#}  sent to {told} members of {}", args.name);
    for UnreachedAgent { agent, why } in missed {
        anstream::println!("  {agent}  {DIM}{why}{DIM:#}");
    }
    Ok(())
}
