//! Queue agents of the demo: a council that is asked, and a swarm that shares work. They
//! run on a bus of this process and end with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::future::try_join_all;
use ostler_bus::{Envelope, MemoryBus};
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_runtime::agents::{AgentReply, AgentRuntime, AgentSpec, CouncilOptions, agent_fn};
use serde_json::json;

use crate::commands::reply::format_reply;
use crate::screen::{DIM, GOOD, HEADER, print_prose};

/// The time limit for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The members of the council, with their answers and reasons.
const COUNCIL: [(&str, &str, &str); 3] = [
    ("legal", "yes", "allergens are listed"),
    ("kitchen", "no", "the oven is full on Fridays"),
    ("style", "yes", "it reads well"),
];
/// How many agents share the work.
const WORKERS: usize = 4;
/// How many tasks they share.
const TASKS: usize = 200;

/// Runs the council and the swarm.
pub(super) async fn play() -> anyhow::Result<()> {
    anstream::println!();
    print_prose(
        "Agents also work on queues: all members of a council get the same question, and the \
         members of a swarm share many tasks …",
        2,
    );
    let runtime = AgentRuntime::builder(Arc::new(MemoryBus::default())).start().await?;
    council(&runtime).await?;
    swarm(&runtime).await?;
    Ok(runtime.shutdown().await?)
}

/// Asks all members the same question at the same time.
async fn council(runtime: &AgentRuntime) -> anyhow::Result<()> {
    let mut members: Vec<AgentName> = Vec::new();
    for (name, answer, reason) in COUNCIL {
        let opinion = json!({ "answer": answer, "reason": reason });
        let agent = agent_fn(move |_, _| {
            std::future::ready(Ok(Some(AgentReply::new("opinion", opinion.clone()))))
        });
        members
            .push(runtime.start(AgentSpec::named(name)?.with_capability("review"), agent).await?);
    }
    let question = "May the new menu go out?";
    let code = runtime.new_reference_code().await?;
    let message = Envelope::new("review", json!({ "text": question }), code);
    let council = CouncilOptions { quorum: 2, timeout: TIMEOUT };
    let opinions = runtime.council(&members, &message, council).await?;
    anstream::println!("  {HEADER}council{HEADER:#}  {question}  {DIM}{code}{DIM:#}");
    for (who, reply) in &opinions.answers {
        let (answer, reason) = format_reply(reply);
        anstream::println!("           {who} {GOOD}{answer}{GOOD:#} {DIM}{reason}{DIM:#}");
    }
    anstream::println!("           {} of {} answered", opinions.answers.len(), members.len());
    Ok(())
}

/// Sends tasks to a team whose free members take the next one.
async fn swarm(runtime: &AgentRuntime) -> anyhow::Result<()> {
    let team: TeamName = "swarm".parse()?;
    for number in 1..=WORKERS {
        let agent = agent_fn(|_, envelope: Arc<Envelope>| async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let number = envelope.message.payload["number"].as_u64().unwrap_or_default();
            Ok(Some(AgentReply::new("square", json!({ "number": number * number }))))
        });
        let spec = AgentSpec::named(&format!("worker-{number}"))?.share_team_work();
        runtime.start_in_team(&team, spec, agent).await?;
    }
    let (code, started) = (runtime.new_reference_code().await?, Instant::now());
    let questions = (0..TASKS).map(|number| {
        let message = Envelope::new("square", json!({ "number": number }), code);
        runtime.ask_team(&team, message, TIMEOUT)
    });
    let replies = try_join_all(questions).await?;
    let mut shares: BTreeMap<AgentName, usize> = BTreeMap::new();
    for reply in &replies {
        let worker = reply.context.from_agent.clone().context("a reply without a sender")?;
        *shares.entry(worker).or_default() += 1;
    }
    let millis = started.elapsed().as_millis();
    let shares = shares.iter().map(|(worker, count)| format!("{worker} {count}"));
    anstream::println!("  {HEADER}swarm{HEADER:#}    square {TASKS} numbers  {DIM}{code}{DIM:#}");
    anstream::println!("           {}", shares.collect::<Vec<_>>().join(" · "));
    anstream::println!("           {} done in {millis} ms", replies.len());
    Ok(())
}
