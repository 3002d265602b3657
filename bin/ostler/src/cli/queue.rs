//! What can be typed about agents on queues.

use std::time::Duration;

use clap::{Args, Subcommand};
use ostler_bus::{Kind, QueueName};
use ostler_domain::dispatch::delegation::DelegationStatus;
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::id::EnvelopeId;

use super::Output;
use super::talk::At;

/// Whose agents, and where they are reached.
#[derive(Debug, Args)]
pub(crate) struct Reach {
    /// The org whose agents they are, by its slug or its id; the platform if none
    #[arg(long, value_name = "ORG")]
    pub(crate) org: Option<String>,
    /// The bus: memory: for this process alone, or amqp://… for all that share a broker
    #[arg(long, value_name = "URL", env = "OSTLER_BUS_URL", hide_env_values = true)]
    pub(crate) bus: Option<String>,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// List the agents that are registered
    #[command(after_help = "\
Examples:
  ostler agent ls
  ostler agent ls --can review --json")]
    Ls(AgentLs),
    /// Show an agent: what it can do, its teams, its work, and what waits for it
    #[command(after_help = "\
Examples:
  ostler agent show legal
  ostler agent show legal --json")]
    Show(AgentShow),
    /// Send a message to an agent, and print the reply
    #[command(after_help = "\
Examples:
  ostler agent send legal \"May we ship this?\"
  ostler agent send legal \"Look at this when you can\" --no-reply
  ostler agent send legal \"May we ship this?\" --type review --timeout 2m --json")]
    Send(AgentSend),
}

#[derive(Debug, Args)]
pub(crate) struct AgentLs {
    /// Only those that can do this
    #[arg(long = "can", value_name = "CAPABILITY")]
    pub(crate) capability: Option<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct AgentShow {
    /// The agent
    #[arg(value_name = "AGENT")]
    pub(crate) name: AgentName,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct AgentSend {
    /// The agent
    #[arg(value_name = "AGENT")]
    pub(crate) name: AgentName,
    #[command(flatten)]
    pub(crate) saying: Saying,
    /// Do not wait for a reply
    #[arg(long)]
    pub(crate) no_reply: bool,
    /// How long to wait for the reply
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// What is said.
#[derive(Debug, Args)]
pub(crate) struct Saying {
    /// What to say
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// The type of the message
    #[arg(long = "type", value_name = "TYPE", default_value = "say")]
    pub(crate) kind: Kind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Team {
    /// List the teams
    #[command(after_help = "\
Examples:
  ostler team ls
  ostler team ls --json")]
    Ls(TeamLs),
    /// Make a team of agents; the first leads it
    #[command(after_help = "\
Examples:
  ostler team create review --members legal,security,style
  ostler team create try --members ada,bob --register echo")]
    Create(TeamCreate),
    /// Ask the leader of a team, or all members at the same time
    #[command(after_help = "\
Examples:
  ostler team ask review \"May we ship this?\"
  ostler team ask review \"May we ship this?\" --council --quorum 2 --timeout 30s")]
    Ask(TeamAsk),
    /// Send a message to each member of a team
    #[command(after_help = "\
Examples:
  ostler team broadcast review \"We ship at noon\"
  ostler team broadcast review \"We ship at noon\" --type notice --json")]
    Broadcast(TeamBroadcast),
    /// Dissolve a team, and have its agents stop
    #[command(after_help = "\
Examples:
  ostler team stop review
  ostler team stop review --json")]
    Stop(TeamStop),
}

#[derive(Debug, Args)]
pub(crate) struct TeamLs {
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct TeamCreate {
    /// What the team is called
    #[arg(value_name = "TEAM")]
    pub(crate) name: TeamName,
    /// Its members; the first leads
    #[arg(long, value_name = "AGENT,…", value_delimiter = ',', required = true)]
    pub(crate) members: Vec<AgentName>,
    /// Register members that are not known yet as agents of this type: echo or human
    #[arg(long, value_name = "TYPE")]
    pub(crate) register: Option<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct TeamAsk {
    /// The team
    #[arg(value_name = "TEAM")]
    pub(crate) name: TeamName,
    #[command(flatten)]
    pub(crate) saying: Saying,
    /// Ask every member at the same time
    #[arg(long)]
    pub(crate) council: bool,
    /// How many of a council must answer; more than half if it is not said
    #[arg(long, value_name = "N", requires = "council")]
    pub(crate) quorum: Option<usize>,
    /// How long to wait for answers
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct TeamBroadcast {
    /// The team
    #[arg(value_name = "TEAM")]
    pub(crate) name: TeamName,
    #[command(flatten)]
    pub(crate) saying: Saying,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct TeamStop {
    /// The team
    #[arg(value_name = "TEAM")]
    pub(crate) name: TeamName,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Delegation {
    /// List work that was given to agents
    #[command(after_help = "\
Examples:
  ostler delegation ls
  ostler delegation ls --agent legal
  ostler delegation ls --overdue --json")]
    Ls(DelegationLs),
    /// Show a piece of work, what it waits for, and what waits for it
    #[command(after_help = "\
Examples:
  ostler delegation show del_01jd0v4k9pf2ht6z3m8w5x7ybc
  ostler delegation show OST-2026-1115-007 --json")]
    Show(DelegationShow),
    /// Say where a piece of work stands
    #[command(after_help = "\
Examples:
  ostler delegation update OST-2026-1115-007 in-progress
  ostler delegation update del_01jd0v4k9pf2ht6z3m8w5x7ybc complete --json")]
    Update(DelegationUpdate),
}

#[derive(Debug, Args)]
pub(crate) struct DelegationLs {
    /// Only what this agent has
    #[arg(long, value_name = "AGENT", group = "which")]
    pub(crate) agent: Option<AgentName>,
    /// Only what is late
    #[arg(long, group = "which")]
    pub(crate) overdue: bool,
    /// Only what waits for something that is not finished
    #[arg(long, group = "which")]
    pub(crate) blocked: bool,
    /// Only what is not finished and waits for nothing
    #[arg(long, group = "which")]
    pub(crate) ready: bool,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct DelegationShow {
    /// The work, by its id or its code
    #[arg(value_name = "WORK")]
    pub(crate) work: String,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct DelegationUpdate {
    /// The work, by its id or its code
    #[arg(value_name = "WORK")]
    pub(crate) work: String,
    /// Where it stands now
    #[arg(value_name = "STATUS")]
    pub(crate) status: Standing,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// Where work stands.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Standing {
    /// It is being done
    InProgress,
    /// It is done, and somebody looks at it
    AwaitingReview,
    /// It is finished
    Complete,
    /// Its time is over
    Overdue,
}

impl From<Standing> for DelegationStatus {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::InProgress => Self::InProgress,
            Standing::AwaitingReview => Self::AwaitingReview,
            Standing::Complete => Self::Complete,
            Standing::Overdue => Self::Overdue,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bus {
    /// Show what can be done, by how many agents, and what waits in their queues
    #[command(after_help = "\
Examples:
  ostler bus status
  OSTLER_BUS_URL=amqp://localhost ostler bus status --json")]
    Status(BusStatus),
    /// List messages that could not be handled, with the reason
    #[command(after_help = "\
Examples:
  ostler bus dead-letters
  ostler bus dead-letters --queue agent.legal --limit 5 --json")]
    DeadLetters(BusDeadLetters),
    /// Put dead letters back into the queues that they were for
    #[command(after_help = "\
Examples:
  ostler bus replay --all
  ostler bus replay --queue agent.legal
  ostler bus replay --queue agent.legal --message env_01jd0v4k9pf2ht6z3m8w5x7ybc")]
    Replay(BusReplay),
}

#[derive(Debug, Args)]
pub(crate) struct BusStatus {
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct BusDeadLetters {
    /// Only those that were for this queue
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<QueueName>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct BusReplay {
    /// Those that were for this queue
    #[arg(long, value_name = "QUEUE", required_unless_present = "all")]
    pub(crate) queue: Option<QueueName>,
    /// Only this message
    #[arg(long, value_name = "MESSAGE", requires = "queue")]
    pub(crate) message: Option<EnvelopeId>,
    /// All of them
    #[arg(long, conflicts_with = "queue")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// A time as people write it: `30s`, `500ms`, `2m`.
fn time(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<jiff::SignedDuration>().ok();
    let positive = parsed.and_then(|time| Duration::try_from(time).ok());
    positive
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "a time is written like 30s, 500ms or 2m".to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::time;

    #[test]
    fn a_time_is_read_as_people_write_it() {
        let table = [
            ("30s", Some(30_000)),
            ("500ms", Some(500)),
            ("2m", Some(120_000)),
            ("1m 30s", Some(90_000)),
            ("0s", None),
            ("-3s", None),
            ("soon", None),
            ("", None),
        ];
        for (text, millis) in table {
            assert_eq!(time(text).ok(), millis.map(Duration::from_millis), "{text}");
        }
    }
}
