//! `ostler team ask`.

use std::time::{Duration, Instant};

use ostler_domain::dispatch::name::AgentName;
use ostler_domain::reference::ReferenceCode;
use ostler_runtime::queue::Council;
use serde::Serialize;

use super::answer::words;
use crate::cli::queue::TeamAsk;
use crate::desk::Desk;
use crate::screen::{BAD, Cell, HEADER, QUIET, print_rows};

/// What came of a question.
#[derive(Serialize)]
struct Asked {
    reference: ReferenceCode,
    asked: usize,
    millis: u64,
    answers: Vec<Answer>,
    missing: Vec<Missing>,
}

#[derive(Serialize)]
struct Answer {
    agent: AgentName,
    answer: String,
    reason: String,
    payload: serde_json::Value,
}

#[derive(Serialize)]
struct Missing {
    agent: AgentName,
    why: String,
}

pub(crate) async fn run(command: &TeamAsk) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let asked = ask(&desk, command).await;
    desk.close().await?;
    let asked = asked?;
    if command.reach.output.json {
        return crate::commands::print_json(&asked);
    }
    print(&asked);
    Ok(())
}

async fn ask(desk: &Desk, command: &TeamAsk) -> anyhow::Result<Asked> {
    let team = desk.team(&command.name).await?;
    let mut members: Vec<AgentName> = match command.council {
        true => team.members().iter().cloned().collect(),
        false => vec![team.leader().clone()],
    };
    let asked = members.len();
    let asleep = desk.wake(&members).await?;
    members.retain(|member| !asleep.iter().any(|one| one.name == *member));
    let message = desk.message(&command.saying).await?;
    let council =
        Council { quorum: command.quorum.unwrap_or(asked / 2 + 1), patience: command.timeout };
    let began = Instant::now();
    let opinions = desk.runtime.council(&members, &message, council).await?;
    let answers = opinions.answers.into_iter().map(|(agent, reply)| {
        let (answer, reason) = words(&reply);
        Answer { agent, answer, reason, payload: (*reply.message.payload).clone() }
    });
    let silent = opinions.missing.into_iter();
    let silent = silent.chain(asleep.into_iter().map(|one| (one.name, one.why)));
    Ok(Asked {
        reference: message.reference,
        asked,
        millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        answers: answers.collect(),
        missing: silent.map(|(agent, why)| Missing { agent, why: why.to_string() }).collect(),
    })
}

fn print(asked: &Asked) {
    let Asked { reference, answers, missing, .. } = asked;
    let seconds = Duration::from_millis(asked.millis).as_secs_f64();
    anstream::println!(
        "{HEADER}{reference}{HEADER:#}  asked {}, {} answered in {seconds:.1} s",
        asked.asked,
        answers.len()
    );
    let name = |agent: &AgentName| Cell::from(format!("  {agent}"));
    let answered = answers.iter().map(|one| {
        [name(&one.agent), one.answer.as_str().into(), Cell::styled(one.reason.as_str(), QUIET)]
    });
    let silent = missing.iter().map(|one| {
        [name(&one.agent), Cell::styled("–", BAD), Cell::styled(one.why.as_str(), QUIET)]
    });
    print_rows(&answered.chain(silent).collect::<Vec<_>>());
}
