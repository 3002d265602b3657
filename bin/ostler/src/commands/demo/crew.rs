//! Agents on queues at work: a council that is asked, and a swarm that shares a
//! pile of work. They run on a bus of this process, and go with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::future::try_join_all;
use ostler_bus::{Envelope, MemoryBus};
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_runtime::queue::{AgentRuntime, Council, Reply, Spec, agent_fn};
use serde_json::json;

use crate::commands::team::answer::words;
use crate::screen::{GOOD, HEADER, QUIET};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Who is asked, and what they think.
const COUNCIL: [(&str, &str, &str); 3] = [
    ("legal", "yes", "allergens are listed"),
    ("kitchen", "no", "the oven is full on Fridays"),
    ("style", "yes", "it reads well"),
];
/// How many share the work, and how much of it there is.
const WORKERS: usize = 4;
const PIECES: usize = 200;

/// Has both work.
pub(super) async fn play() -> anyhow::Result<()> {
    anstream::println!(
        "\n  Beside conversations, agents work on queues: a council is asked the same question, a \
         swarm\n  shares a pile of work …"
    );
    let runtime = AgentRuntime::builder(Arc::new(MemoryBus::default())).start().await?;
    council(&runtime).await?;
    swarm(&runtime).await?;
    Ok(runtime.shutdown().await?)
}

/// Everybody is asked the same at the same time.
async fn council(runtime: &AgentRuntime) -> anyhow::Result<()> {
    let mut members: Vec<AgentName> = Vec::new();
    for (name, answer, reason) in COUNCIL {
        let opinion = json!({ "answer": answer, "reason": reason });
        let agent = agent_fn(move |_, _| {
            std::future::ready(Ok(Some(Reply::new("opinion", opinion.clone()))))
        });
        members.push(runtime.start(Spec::named(name)?.able_to("review"), agent).await?);
    }
    let question = "May the new menu go out?";
    let code = runtime.new_code().await?;
    let message = Envelope::new("review", json!({ "text": question }), code);
    let council = Council { quorum: 2, patience: PATIENCE };
    let opinions = runtime.council(&members, &message, council).await?;
    let words = opinions.answers.iter().map(|(who, reply)| {
        let (answer, reason) = words(reply);
        format!("{who} {GOOD}{answer}{GOOD:#} {QUIET}{reason}{QUIET:#}")
    });
    anstream::println!("  {HEADER}council{HEADER:#}  {question}  {QUIET}{code}{QUIET:#}");
    anstream::println!("           {}", words.collect::<Vec<_>>().join(" · "));
    anstream::println!("           {} of {} answered", opinions.answers.len(), members.len());
    Ok(())
}

/// Whoever is free takes the next piece.
async fn swarm(runtime: &AgentRuntime) -> anyhow::Result<()> {
    let team: TeamName = "swarm".parse()?;
    for number in 1..=WORKERS {
        let agent = agent_fn(|_, envelope: Arc<Envelope>| async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let number = envelope.message.payload["number"].as_u64().unwrap_or_default();
            Ok(Some(Reply::new("square", json!({ "number": number * number }))))
        });
        let spec = Spec::named(&format!("worker-{number}"))?.sharing_team_work();
        runtime.start_in_team(&team, spec, agent).await?;
    }
    let (code, began) = (runtime.new_code().await?, Instant::now());
    let asking = (0..PIECES).map(|number| {
        let message = Envelope::new("square", json!({ "number": number }), code);
        runtime.ask_team(&team, message, PATIENCE)
    });
    let replies = try_join_all(asking).await?;
    let mut shares: BTreeMap<AgentName, usize> = BTreeMap::new();
    for reply in &replies {
        let worker = reply.context.from_agent.clone().context("a reply says who gave it")?;
        *shares.entry(worker).or_default() += 1;
    }
    let millis = began.elapsed().as_millis();
    let shares = shares.iter().map(|(worker, count)| format!("{worker} {count}"));
    anstream::println!(
        "  {HEADER}swarm{HEADER:#}    square {PIECES} numbers  {QUIET}{code}{QUIET:#}"
    );
    anstream::println!("           {}", shares.collect::<Vec<_>>().join(" · "));
    anstream::println!("           {} done in {millis} ms", replies.len());
    Ok(())
}
