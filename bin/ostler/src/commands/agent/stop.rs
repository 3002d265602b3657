//! `ostler agent stop` and `ostler agent rm`.

use clap::Args;
use ostler_domain::queue_agent::name::AgentName;
use serde_json::json;

use crate::agent_client::with_client;
use crate::commands::args::BusArgs;
use crate::screen::HEADER;

#[derive(Debug, Args)]
pub(crate) struct AgentNameArgs {
    /// Agent
    #[arg(value_name = "AGENT")]
    name: AgentName,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn stop(args: &AgentNameArgs) -> anyhow::Result<()> {
    with_client(&args.bus, async |client| {
        Ok(client.operations().stop_queue_agent(&client.runtime, &args.name).await?)
    })
    .await?;
    let name = &args.name;
    if args.bus.output.json {
        return crate::commands::print_json(&json!({ "agent": name, "stopped": true }));
    }
    anstream::println!(
        "{HEADER}{name}{HEADER:#}  stopped; messages to it become dead letters until it is \
         started: ostler agent start {name}"
    );
    Ok(())
}

pub(super) async fn remove(args: &AgentNameArgs) -> anyhow::Result<()> {
    let dead_letters = with_client(&args.bus, async |client| {
        Ok(client.operations().remove_queue_agent(&client.runtime, &args.name).await?)
    })
    .await?;
    let name = &args.name;
    if args.bus.output.json {
        let removed = json!({ "agent": name, "removed": true, "dead_letters": dead_letters });
        return crate::commands::print_json(&removed);
    }
    let waiting = match dead_letters {
        0 => String::new(),
        count => format!("; {count} messages in its queue are dead letters now"),
    };
    anstream::println!("{HEADER}{name}{HEADER:#}  removed{waiting}");
    Ok(())
}
