//! `ostler agent start`.

use clap::{Args, ValueEnum};
use ostler_api::queue_agent::{QueueAgent, QueueAgentType, StartQueueAgentRequest};
use ostler_domain::queue_agent::name::AgentName;

use crate::commands::args::BusArgs;
use crate::queue_api::with_queues;
use crate::screen::{DIM, HEADER};

#[derive(Debug, Args)]
pub(crate) struct AgentStartArgs {
    /// Agent; an agent of the org goes by its slug
    #[arg(value_name = "AGENT")]
    name: AgentName,
    /// Type of an agent that is not registered yet
    #[arg(long = "type", value_name = "TYPE")]
    agent_type: Option<AgentTypeArg>,
    /// Capabilities to add, separated by commas
    #[arg(long = "can", value_name = "CAPABILITY,…", value_delimiter = ',')]
    capabilities: Vec<String>,
    #[command(flatten)]
    bus: BusArgs,
}

/// A type of agent that can be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::commands) enum AgentTypeArg {
    /// Replies with what it receives
    Echo,
    /// A person, who answers with `ostler worklist answer`
    Human,
}

impl From<AgentTypeArg> for QueueAgentType {
    fn from(agent_type: AgentTypeArg) -> Self {
        match agent_type {
            AgentTypeArg::Echo => Self::Echo,
            AgentTypeArg::Human => Self::Human,
        }
    }
}

pub(super) async fn run(args: &AgentStartArgs) -> anyhow::Result<()> {
    let request = StartQueueAgentRequest {
        name: args.name.clone(),
        agent_type: args.agent_type.map(Into::into),
        capabilities: args.capabilities.iter().map(|text| text.as_str().into()).collect(),
    };
    let (record, in_process): (QueueAgent, bool) = with_queues(&args.bus, async |queues| {
        Ok((queues.org.post(&["queue-agents"], &request).await?, queues.is_in_process()))
    })
    .await?;
    if args.bus.output.json {
        return crate::commands::print_json(&record);
    }
    let who = if in_process {
        "commands that send to it run it, because there is no broker"
    } else {
        "every `ostler serve` and `ostler worker` runs it"
    };
    anstream::println!(
        "{HEADER}{}{HEADER:#}  {}, started  {DIM}{who}{DIM:#}",
        record.name,
        record.agent_type
    );
    Ok(())
}
