//! Broadcasts. A broadcast ends when the last member has handled it; the rate is
//! that of handled messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ostler_bus::MemoryBus;
use ostler_domain::queue_agent::name::TeamName;
use ostler_runtime::agents::{AgentRuntime, AgentSpec, agent_fn};
use tokio::sync::{Notify, mpsc};

use super::agents::{EchoRequest, name};
use super::load::{LoadResult, LoadTarget, load};
use crate::BenchError;
use crate::report::Measurement;

/// Counts the members that have not handled the message yet.
#[derive(Default)]
struct Round {
    left: AtomicUsize,
    over: Notify,
}

impl Round {
    fn begin(&self, members: usize) {
        self.left.store(members, Ordering::SeqCst);
    }

    fn handled(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.over.notify_one();
        }
    }
}

/// Broadcasts to `members` agents, one message after the other, until the time is
/// over.
pub(super) async fn run(
    name: String,
    members: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let handled = |done: LoadResult| LoadResult { count: done.count * members, ..done };
    let bare = handled(load(Arc::new(Channels::open(members)), 1, time).await?);
    let team = Arc::new(Team::assemble(members).await?);
    let through = handled(load(Arc::clone(&team), 1, time).await?);
    team.runtime.shutdown().await?;
    Ok(through.measurement(name, bare.per_sec()))
}

/// The limit: a task per member with a channel to it.
struct Channels {
    members: Vec<mpsc::Sender<Arc<str>>>,
    message: Arc<str>,
    round: Arc<Round>,
}

impl Channels {
    fn open(members: usize) -> Self {
        let round = Arc::new(Round::default());
        let open = |_| {
            let (tell, mut told) = mpsc::channel(1);
            let round = Arc::clone(&round);
            tokio::spawn(async move {
                while told.recv().await.is_some() {
                    round.handled();
                }
            });
            tell
        };
        let members = (0..members).map(open).collect();
        Self { members, message: "Is everything all right?".into(), round }
    }
}

impl LoadTarget for Channels {
    async fn ask(&self, _number: usize) -> Result<(), BenchError> {
        self.round.begin(self.members.len());
        for member in &self.members {
            member.send(Arc::clone(&self.message)).await.map_err(|_| BenchError::NoReply)?;
        }
        self.round.over.notified().await;
        Ok(())
    }
}

/// A team of agents in their harnesses.
struct Team {
    runtime: AgentRuntime,
    name: TeamName,
    members: usize,
    question: EchoRequest,
    round: Arc<Round>,
}

impl Team {
    async fn assemble(members: usize) -> Result<Self, BenchError> {
        let round = Arc::new(Round::default());
        let team: TeamName = "everybody".parse()?;
        let mut builder = AgentRuntime::builder(Arc::new(MemoryBus::default()));
        for number in 0..members {
            let round = Arc::clone(&round);
            let agent = agent_fn(move |_, _| {
                round.handled();
                std::future::ready(Ok(None))
            });
            builder = builder.agent_in_team(team.clone(), AgentSpec::new(name(number)?), agent);
        }
        let runtime = builder.start().await?;
        let question = EchoRequest::new(&runtime).await?;
        Ok(Self { runtime, name: team, members, question, round })
    }
}

impl LoadTarget for Team {
    async fn ask(&self, _number: usize) -> Result<(), BenchError> {
        self.round.begin(self.members);
        self.runtime.broadcast(&self.name, self.question.envelope()).await?;
        self.round.over.notified().await;
        Ok(())
    }
}
