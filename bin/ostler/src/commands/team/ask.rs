//! `ostler team ask`.

use std::time::Duration;

use clap::Args;
use ostler_api::team_message::{TeamAnswer, TeamAnswers, TeamQuestion, UnreachedAgent};
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use serde_json::json;

use super::start_members;
use crate::commands::args::{BusArgs, MessageArgs, parse_duration};
use crate::commands::reply::format_payload;
use crate::queue_api::with_queues;
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
    quorum: Option<u32>,
    /// Time to wait for answers, up to 50s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &TeamAskArgs) -> anyhow::Result<()> {
    let question = TeamQuestion {
        text: args.message.text.clone(),
        kind: Some(args.message.kind.to_string()),
        council: args.council,
        quorum: args.quorum,
        timeout_ms: Some(u64::try_from(args.timeout.as_millis()).unwrap_or(u64::MAX)),
    };
    let path = ["queue-teams", args.name.as_str(), "questions"];
    let asked: TeamAnswers = with_queues(&args.bus, async |queues| {
        start_members(queues, &args.name).await?;
        queues.org.post(&path, &question).await
    })
    .await?;
    let answers = asked.answers.iter().map(answer).collect::<anyhow::Result<Vec<_>>>()?;
    if args.bus.output.json {
        let answers = answers.iter().map(|(answered, answer, reason)| {
            json!({"agent": answered.agent, "answer": answer, "reason": reason,
                "payload": answered.payload})
        });
        return crate::commands::print_json(&json!({"reference": asked.reference,
            "asked": asked.asked, "millis": asked.millis,
            "answers": answers.collect::<Vec<_>>(), "missing": asked.missing}));
    }
    print(&asked, &answers);
    Ok(())
}

/// Returns an answer with its text and reason.
fn answer(answer: &TeamAnswer) -> anyhow::Result<(&TeamAnswer, String, String)> {
    let (text, reason) = format_payload(&answer.kind.parse()?, &answer.payload);
    Ok((answer, text, reason))
}

fn print(asked: &TeamAnswers, answers: &[(&TeamAnswer, String, String)]) {
    let TeamAnswers { reference, missing, .. } = asked;
    let seconds = Duration::from_millis(asked.millis).as_secs_f64();
    anstream::println!(
        "{HEADER}{reference}{HEADER:#}  asked {}, {} answered in {seconds:.1} s",
        asked.asked,
        answers.len()
    );
    let name = |agent: &AgentName| Cell::from(format!("  {agent}"));
    let answered = answers.iter().map(|(answered, answer, reason)| {
        [name(&answered.agent), answer.as_str().into(), Cell::styled(reason.as_str(), DIM)]
    });
    let missing = missing.iter().map(|UnreachedAgent { agent, why }| {
        [name(agent), Cell::styled("–", BAD), Cell::styled(why.as_str(), DIM)]
    });
    print_rows(&answered.chain(missing).collect::<Vec<_>>());
}
