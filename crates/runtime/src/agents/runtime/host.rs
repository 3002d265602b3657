//! Hosted agents share the queues `hosted.{count}.{shard}`; the envelope names
//! the receiver.
//!
//! Every process that hosts consumes all of these queues, creates an agent from
//! its record when a message arrives, and evicts it when it is idle. An idle
//! registered agent therefore costs only its record, some 700 bytes in memory.
//! The concurrency of a hosted agent applies per process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use ostler_bus::{ConsumeOptions, Consumer, Delivery, Disposition, Failure, QueueName, now};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::selection::Availability;
use tokio::sync::Mutex as AsyncMutex;

use super::{AgentRuntime, Inner};
use crate::agents::agent::AgentError;
use crate::agents::error::{QueueError, Result};
use crate::agents::harness::{QueueAgentHarness, QueueSources};
use crate::agents::registry::{AgentPresence, AgentRecord, Placement};
use crate::agents::spec::AgentSpec;
use crate::ids::shard;

/// The delay before a message is retried if too many agents are awake.
const NO_ROOM_DELAY: Duration = Duration::from_millis(200);

/// Options of a process that hosts agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostingOptions {
    /// Maximum number of messages in progress per shared queue.
    pub concurrency: u16,
    /// An agent without messages is evicted after at least this time, and at
    /// most twice this time.
    pub idle_after: Duration,
    /// Maximum number of agents in memory.
    pub max_awake: usize,
}

impl Default for HostingOptions {
    fn default() -> Self {
        Self { concurrency: 64, idle_after: Duration::from_secs(60), max_awake: 50_000 }
    }
}

/// How long an agent in memory is used without reading its record again. A stop takes
/// effect in other processes within this time.
const RECORD_TTL: Duration = Duration::from_secs(2);

/// A hosted agent in memory, and its message count at the last eviction check.
struct AwakeAgent {
    harness: Arc<QueueAgentHarness>,
    started: u64,
    /// When its record was read.
    checked: Instant,
}

#[derive(Default)]
pub(super) struct Host {
    awake: Mutex<HashMap<AgentName, AwakeAgent>>,
    consumers: AsyncMutex<Vec<Consumer>>,
}

/// Returns the shared queue of an agent: the same in interval process and version.
pub(super) fn shard_queue(agent: &AgentName, shards: u16) -> QueueName {
    QueueName::hosted(shard(agent.as_str(), shards), shards)
}

impl Host {
    fn awake(&self) -> MutexGuard<'_, HashMap<AgentName, AwakeAgent>> {
        self.awake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Consumes all shared queues.
    pub(super) async fn open(&self, inner: &Arc<Inner>, hosting: HostingOptions) -> Result<()> {
        let mut consumers = self.consumers.lock().await;
        for number in 0..inner.options.shards.max(1) {
            let weak = Arc::downgrade(inner);
            let handler = move |delivery| handle_shared(weak.clone(), hosting, delivery);
            let options =
                ConsumeOptions { concurrency: hosting.concurrency, ..ConsumeOptions::default() };
            let queue = QueueName::hosted(number, inner.options.shards);
            consumers.push(inner.bus.consume(&queue, options, Arc::new(handler)).await?);
        }
        drop(consumers);
        tokio::spawn(evict_loop(Arc::downgrade(inner), hosting.idle_after));
        Ok(())
    }

    /// Stops consuming and returns when the messages in progress are done.
    pub(super) async fn close(&self) {
        for awake in self.awake().values() {
            awake.harness.begin_close();
        }
        for consumer in self.consumers.lock().await.iter() {
            consumer.close().await;
        }
        self.awake().clear();
    }

    /// Returns an agent in memory whose record was read recently.
    fn find(&self, name: &AgentName) -> Option<Arc<QueueAgentHarness>> {
        let awake = self.awake();
        let awake = awake.get(name).filter(|awake| awake.checked.elapsed() < RECORD_TTL);
        awake.map(|awake| Arc::clone(&awake.harness))
    }

    /// Returns an agent in memory whose record has just been read.
    fn confirm(&self, name: &AgentName) -> Option<Arc<QueueAgentHarness>> {
        let mut awake = self.awake();
        let awake = awake.get_mut(name)?;
        awake.checked = Instant::now();
        Some(Arc::clone(&awake.harness))
    }

    /// Records that an agent in memory has left a team.
    pub(super) fn leave_team(&self, agent: &AgentName, team: &TeamName) {
        if let Some(awake) = self.awake().get(agent) {
            awake.harness.leave_team(team);
        }
    }

    /// Adds an agent unless it exists. Returns `None` if there is no room.
    fn insert(
        &self,
        harness: Arc<QueueAgentHarness>,
        limit: usize,
    ) -> Option<Arc<QueueAgentHarness>> {
        let mut awake = self.awake();
        if awake.len() >= limit {
            awake.retain(|_, agent| is_used(agent));
        }
        if awake.len() >= limit && !awake.contains_key(&harness.spec.name) {
            return None;
        }
        let name = harness.spec.name.clone();
        let agent = awake.entry(name).or_insert_with(|| AwakeAgent {
            harness,
            started: 0,
            checked: Instant::now(),
        });
        Some(Arc::clone(&agent.harness))
    }

    /// Evicts agents without messages since the last call.
    pub(super) fn evict_idle(&self) {
        self.awake().retain(|_, agent| {
            let before = std::mem::replace(&mut agent.started, agent.harness.started());
            is_used(agent) || before != agent.started
        });
    }
}

/// A message in progress holds a second reference.
fn is_used(awake: &AwakeAgent) -> bool {
    Arc::strong_count(&awake.harness) > 1
}

async fn evict_loop(weak: Weak<Inner>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        let Some(inner) = weak.upgrade() else { return };
        inner.host.evict_idle();
    }
}

/// Handles a message from a shared queue.
async fn handle_shared(
    weak: Weak<Inner>,
    hosting: HostingOptions,
    delivery: Delivery,
) -> Disposition {
    let Some(inner) = weak.upgrade() else {
        return Disposition::Retry(failure(
            FailureClass::Infrastructure,
            "the runtime was dropped",
        ));
    };
    let Some(name) = delivery.envelope.context.to_agent.clone() else {
        return Disposition::DeadLetter(failure(FailureClass::Data, "the message has no receiver"));
    };
    match AgentRuntime(inner).wake(&name, hosting).await {
        Ok(Some(harness)) => harness.handle(delivery).await,
        Ok(None) => {
            tokio::time::sleep(NO_ROOM_DELAY).await;
            let reason = "too many hosted agents are in memory in this process";
            Disposition::Retry(failure(FailureClass::ResourceExhaustion, reason))
        }
        Err(error) => {
            let error = AgentError::from(error);
            match error.class {
                FailureClass::Infrastructure => Disposition::Retry(error.into()),
                _ => Disposition::DeadLetter(error.into()),
            }
        }
    }
}

fn failure(class: FailureClass, reason: &str) -> Failure {
    Failure { class, reason: reason.to_owned() }
}

impl AgentRuntime {
    /// Registers a hosted agent. A message to it creates it in a process that
    /// hosts, with the factory of its type.
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

    /// Returns the hosted agents in memory, ordered by name.
    pub fn awake_agents(&self) -> Vec<AgentName> {
        let mut names: Vec<_> = self.0.host.awake().keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// Evicts hosted agents without messages since the last call. A process
    /// that hosts does this periodically.
    pub fn evict_idle(&self) {
        self.0.host.evict_idle();
    }

    /// Returns the agent, created if needed; `None` if there is no room.
    async fn wake(
        &self,
        name: &AgentName,
        hosting: HostingOptions,
    ) -> Result<Option<Arc<QueueAgentHarness>>> {
        if let Some(harness) = self.0.host.find(name) {
            return Ok(Some(harness));
        }
        let record = self.0.registry.get(name).await?;
        let record = record.filter(|record| record.placement == Placement::Hosted);
        let Some(record) = record.filter(|record| record.is_available(now())) else {
            let known = self.0.registry.get(name).await?.is_some();
            self.0.host.awake().remove(name);
            return Err(match known {
                true => QueueError::AgentStopped(name.clone()),
                false => QueueError::UnknownAgent(name.clone()),
            });
        };
        if let Some(harness) = self.0.host.confirm(name) {
            return Ok(Some(harness));
        }
        let agent = self.0.factories.make(&record)?;
        let spec = AgentSpec::from_record(&record);
        let harness =
            QueueAgentHarness::new(spec, agent, Arc::downgrade(&self.0), QueueSources::Several);
        harness.enter_teams_unwatched(self.current_teams_of(name).await?);
        Ok(self.0.host.insert(harness, hosting.max_awake))
    }

    /// Makes a hosted agent unavailable in all processes. Returns `false` if
    /// the agent is not hosted.
    pub(super) async fn stop_hosted(&self, name: &AgentName) -> Result<bool> {
        let record = self.0.registry.get(name).await?;
        if record.is_none_or(|record| record.placement != Placement::Hosted) {
            return Ok(false);
        }
        self.0.registry.withdraw(name).await?;
        self.close_hosted(name).await;
        Ok(true)
    }

    /// Closes a hosted agent of this process whose record was changed by another.
    pub(crate) async fn close_hosted(&self, name: &AgentName) {
        let awake = self.0.host.awake().remove(name);
        if let Some(awake) = awake {
            awake.harness.close().await;
        }
    }

    /// Makes a stopped hosted agent available again.
    pub async fn resume(&self, name: &AgentName) -> Result<()> {
        let presence = [AgentPresence { name: name.clone(), load: 0 }];
        self.0.registry.renew_presence(&presence, now() + self.0.options.presence_ttl).await
    }
}
