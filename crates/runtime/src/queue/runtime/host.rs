//! Hosted agents: they share queues, are made when a message comes, and are put
//! away when they are idle, so that one that nobody writes to costs its record.
//!
//! Any node may take any message of a shared queue, so how many an agent
//! handles at once holds for each node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ostler_bus::{ConsumeOptions, Consumer, Delivery, Failure, QueueName, Verdict, now};
use ostler_domain::dispatch::choice::Availability;
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::name::AgentName;
use tokio::sync::Mutex as AsyncMutex;

use super::{AgentRuntime, Inner};
use crate::ids::shard;
use crate::queue::agent::AgentError;
use crate::queue::error::{QueueError, Result};
use crate::queue::harness::{Harness, Sources};
use crate::queue::registry::{AgentRecord, Placement, Presence};
use crate::queue::spec::Spec;

/// The wait before a message that finds no room is tried again.
const NO_ROOM_WAIT: Duration = Duration::from_millis(200);

/// How a node hosts agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hosting {
    /// How many messages of each shared queue are in work at once.
    pub at_once: u16,
    /// How long an agent without messages stays; at least so long, at most
    /// twice.
    pub idle_after: Duration,
    /// How many agents are awake at once.
    pub awake: usize,
}

impl Default for Hosting {
    fn default() -> Self {
        Self { at_once: 64, idle_after: Duration::from_secs(60), awake: 50_000 }
    }
}

/// An agent that is awake, and what it had begun when it was last looked at.
struct Awake {
    harness: Arc<Harness>,
    begun: u64,
}

#[derive(Default)]
pub(super) struct Host {
    awake: Mutex<HashMap<AgentName, Awake>>,
    consumers: AsyncMutex<Vec<Consumer>>,
}

/// The queue that an agent shares: the same on every node and in every version.
pub(super) fn shard_queue(agent: &AgentName, shards: u16) -> QueueName {
    QueueName::hosted(shard(agent.as_str(), shards), shards)
}

impl Host {
    fn awake(&self) -> MutexGuard<'_, HashMap<AgentName, Awake>> {
        self.awake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the messages of all shared queues.
    pub(super) async fn open(&self, inner: &Arc<Inner>, hosting: Hosting) -> Result<()> {
        let mut consumers = self.consumers.lock().await;
        for number in 0..inner.options.shards.max(1) {
            let weak = Arc::downgrade(inner);
            let handler = move |delivery| take(weak.clone(), hosting, delivery);
            let options =
                ConsumeOptions { concurrency: hosting.at_once, ..ConsumeOptions::default() };
            let queue = QueueName::hosted(number, inner.options.shards);
            consumers.push(inner.bus.consume(&queue, options, Arc::new(handler)).await?);
        }
        drop(consumers);
        tokio::spawn(sweep(Arc::downgrade(inner), hosting.idle_after));
        Ok(())
    }

    /// Takes nothing more, and returns when what was in work is done.
    pub(super) async fn close(&self) {
        for awake in self.awake().values() {
            awake.harness.begin_close();
        }
        for consumer in self.consumers.lock().await.iter() {
            consumer.close().await;
        }
        self.awake().clear();
    }

    fn find(&self, name: &AgentName) -> Option<Arc<Harness>> {
        self.awake().get(name).map(|awake| Arc::clone(&awake.harness))
    }

    /// Keeps a new agent, unless there is one by now or there is no room.
    fn keep(&self, harness: Arc<Harness>, room: usize) -> Option<Arc<Harness>> {
        let mut awake = self.awake();
        if awake.len() >= room {
            awake.retain(|_, one| is_used(one));
        }
        if awake.len() >= room && !awake.contains_key(&harness.spec.name) {
            return None;
        }
        let name = harness.spec.name.clone();
        let kept = awake.entry(name).or_insert(Awake { harness, begun: 0 });
        Some(Arc::clone(&kept.harness))
    }

    /// Puts away who did nothing since the last time.
    pub(super) fn put_away(&self) {
        self.awake().retain(|_, one| {
            let before = std::mem::replace(&mut one.begun, one.harness.begun());
            is_used(one) || before != one.begun
        });
    }
}

/// Whoever handles a message holds the harness too.
fn is_used(awake: &Awake) -> bool {
    Arc::strong_count(&awake.harness) > 1
}

async fn sweep(weak: Weak<Inner>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(inner) = weak.upgrade() else { return };
        inner.host.put_away();
    }
}

/// Handles a message of a shared queue.
async fn take(weak: Weak<Inner>, hosting: Hosting, delivery: Delivery) -> Verdict {
    let Some(inner) = weak.upgrade() else {
        return Verdict::Again(failure(FailureClass::Infrastructure, "the runtime is gone"));
    };
    let Some(name) = delivery.envelope.context.to_agent.clone() else {
        return Verdict::Dead(failure(FailureClass::Data, "the message does not say for whom"));
    };
    match AgentRuntime(inner).wake(&name, hosting).await {
        Ok(Some(harness)) => harness.handle(delivery).await,
        Ok(None) => {
            tokio::time::sleep(NO_ROOM_WAIT).await;
            let reason = "too many agents are awake on this node";
            Verdict::Again(failure(FailureClass::ResourceExhaustion, reason))
        }
        Err(error) => {
            let error = AgentError::from(error);
            match error.class {
                FailureClass::Infrastructure => Verdict::Again(error.into()),
                _ => Verdict::Dead(error.into()),
            }
        }
    }
}

fn failure(class: FailureClass, reason: &str) -> Failure {
    Failure { class, reason: reason.to_owned() }
}

impl AgentRuntime {
    /// Registers a hosted agent: a message to it makes it, on a node that hosts,
    /// with the factory of its type.
    pub async fn host(&self, record: AgentRecord) -> Result<()> {
        self.0.factories.check(&record.agent_type)?;
        let name = record.name.clone();
        let record = AgentRecord {
            placement: Placement::Hosted,
            availability: Availability::Available,
            available_until: None,
            ..record
        };
        self.0.registry.register(record).await?;
        self.0.routes.forget(&name);
        Ok(())
    }

    /// The hosted agents that are awake here, by name.
    pub fn awake(&self) -> Vec<AgentName> {
        let mut names: Vec<_> = self.0.host.awake().keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// Puts hosted agents away that did nothing since this was last called. A
    /// node that hosts does it by itself.
    pub fn put_away_idle(&self) {
        self.0.host.put_away();
    }

    /// The agent, made if it is not awake; none if there is no room.
    async fn wake(&self, name: &AgentName, hosting: Hosting) -> Result<Option<Arc<Harness>>> {
        if let Some(harness) = self.0.host.find(name) {
            return Ok(Some(harness));
        }
        let record = self.0.registry.get(name).await?;
        let record = record.filter(|record| record.placement == Placement::Hosted);
        let record = record.ok_or_else(|| QueueError::UnknownAgent(name.clone()))?;
        if !record.is_available(now()) {
            return Err(QueueError::Away(name.clone()));
        }
        let agent = self.0.factories.make(&record)?;
        let spec = Spec::of_record(&record);
        let harness = Harness::new(spec, agent, Arc::downgrade(&self.0), Sources::Several);
        Ok(self.0.host.keep(harness, hosting.awake))
    }

    /// Has a hosted agent take no work, on any node. False if it is not hosted.
    pub(super) async fn stop_hosted(&self, name: &AgentName) -> Result<bool> {
        let record = self.0.registry.get(name).await?;
        if record.is_none_or(|record| record.placement != Placement::Hosted) {
            return Ok(false);
        }
        self.0.registry.withdraw(name).await?;
        let awake = self.0.host.awake().remove(name);
        if let Some(awake) = awake {
            awake.harness.close().await;
        }
        Ok(true)
    }

    /// Has a hosted agent that was stopped take work again.
    pub async fn resume(&self, name: &AgentName) -> Result<()> {
        let presence = [Presence { name: name.clone(), load: 0 }];
        self.0.registry.renew(&presence, now() + self.0.options.presence).await
    }
}
