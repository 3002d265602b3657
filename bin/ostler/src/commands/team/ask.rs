//! `ostler team ask`.

use std::time::{Duration, Instant};

use clap::Args;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::reference::ReferenceCode;
use ostler_runtime::agents::CouncilOptions;
use serde::Serialize;

use crate::agent_client::AgentClient;
use crate::commands::args::{BusArgs, MessageArgs, parse_duration};
use crate::commands::reply::format_reply;
use crate::screen::{BAD, Cell, DIM, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct TeamAskArgs {
    /// Team
    #[arg(value_name = "TEAM")]
    name: TeamName,
    #[command(flatten)]
    message: MessageArgs,
    /// Ask every member at the same time
    #[arg(long)]
    council: bool,
    /// How many members of a council must answer [default: more than half]
    #[arg(long, value_name = "N", requires = "council")]
    quorum: Option<usize>,
    /// Time to wait for answers
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    bus: BusArgs,
}

/// The answers to a question.
#[derive(Serialize)]
struct CouncilReport {
    reference: ReferenceCode,
    asked: usize,
    millis: u64,
    answers: Vec<MemberAnswer>,
    missing: Vec<MissingAnswer>,
}

#[derive(Serialize)]
struct MemberAnswer {
    agent: AgentName,
    answer: String,
    reason: String,
    payload: serde_json::Value,
}

#[derive(Serialize)]
struct MissingAnswer {
    agent: AgentName,
    why: String,
}

pub(super) async fn run(args: &TeamAskArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let report = ask(&client, args).await;
    client.close().await?;
    let report = report?;
    if args.bus.output.json {
        return crate::commands::print_json(&report);
    }
    print(&report);
    Ok(())
}

async fn ask(client: &AgentClient, args: &TeamAskArgs) -> anyhow::Result<CouncilReport> {
    let team = client.team(&args.name).await?;
    let mut members: Vec<AgentName> = match args.council {
        true => team.members().iter().cloned().collect(),
        false => vec![team.leader().clone()],
    };
    let asked = members.len();
    let unavailable = client.start(&members).await?;
    members.retain(|member| !unavailable.iter().any(|agent| agent.name == *member));
    let message = client.new_message(&args.message).await?;
    let council =
        CouncilOptions { quorum: args.quorum.unwrap_or(asked / 2 + 1), timeout: args.timeout };
    let started = Instant::now();
    let opinions = client.runtime.council(&members, &message, council).await?;
    let answers = opinions.answers.into_iter().map(|(agent, reply)| {
        let (answer, reason) = format_reply(&reply);
        MemberAnswer { agent, answer, reason, payload: (*reply.message.payload).clone() }
    });
    let missing = opinions.missing.into_iter();
    let missing = missing.chain(unavailable.into_iter().map(|agent| (agent.name, agent.error)));
    Ok(CouncilReport {
        reference: message.reference,
        asked,
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        answers: answers.collect(),
        missing: missing
            .map(|(agent, why)| MissingAnswer { agent, why: why.to_string() })
            .collect(),
    })
}

fn print(report: &CouncilReport) {
    let CouncilReport { reference, answers, missing, .. } = report;
    let seconds = Duration::from_millis(report.millis).as_secs_f64();
    anstream::println!(
        "{HEADER}{reference}{HEADER:#}  asked {}, {} answered in {seconds:.1} s",
        report.asked,
        answers.len()
    );
    let name = |agent: &AgentName| Cell::from(format!("  {agent}"));
    let answered = answers.iter().map(|answer| {
        [
            name(&answer.agent),
            answer.answer.as_str().into(),
            Cell::styled(answer.reason.as_str(), DIM),
        ]
    });
    let missing = missing.iter().map(|missing| {
        [name(&missing.agent), Cell::styled("–", BAD), Cell::styled(missing.why.as_str(), DIM)]
    });
    print_rows(&answered.chain(missing).collect::<Vec<_>>());
}
