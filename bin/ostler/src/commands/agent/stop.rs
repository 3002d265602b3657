//! `ostler agent stop` and `ostler agent rm`.

use clap::Args;
use ostler_api::queue_agent::RemovedQueueAgent;
use ostler_domain::queue_agent::name::AgentName;
use serde_json::json;

use crate::api_client::Nothing;
use crate::commands::args::BusArgs;
use crate::queue_api::with_queues;
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
    let path = ["queue-agents", args.name.as_str(), "stop"];
    let _: Nothing =
        with_queues(&args.bus, async |queues| queues.org.post(&path, &()).await).await?;
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
    let path = ["queue-agents", args.name.as_str()];
    let RemovedQueueAgent { dead_letters } =
        with_queues(&args.bus, async |queues| queues.org.delete(&path).await).await?;
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
