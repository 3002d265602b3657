//! The switchboard: what connects the conversations of a process to the buses of
//! an installation. Doorbells wake the workers of other processes, the AI agents
//! of every org take what is sent to them, and couriers know where to answer.
//!
//! It accepts and answers nothing itself. A broker that is not there is waited
//! for, and nothing else waits with it: workers find what waits by looking.

use std::time::Duration;

use ostler_bus::{BoxFuture, BusError, Consumer, Trunk};
use ostler_domain::agent::Agent;
use ostler_domain::id::OrgId;
use ostler_domain::org::{Org, Place};
use ostler_store::{Store, StoreError};
use tokio::sync::watch;

use crate::inbound::Worker;
use crate::inbound::accept::{Doorbell, Intake};
use crate::outage::Outage;
use crate::queue::{AgentRuntime, Ai, Hosting, QueueError, Staff, Stored};

/// How often new orgs and new agents are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How long to wait before something that failed is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// What the names of doors begin with where there is no org.
const NO_ORG: &str = "ostler.";

/// Why something is not connected yet.
#[derive(Debug, thiserror::Error)]
enum NotYet {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Connects conversations to buses.
#[derive(Debug, Clone)]
pub struct Switchboard {
    store: Store,
    bell: Doorbell,
    intake: Intake,
    trunk: Trunk,
    staff: Staff,
}

impl Switchboard {
    /// Connects the conversations of a worker. What agents are asked is accepted
    /// by `intake`.
    pub fn beside(worker: &Worker, intake: Intake, trunk: Trunk) -> Self {
        let store = worker.parts().store.clone();
        let (bell, staff) = (worker.bell().clone(), Staff::default());
        Self { store, bell, intake, trunk, staff }
    }

    /// The agents that are on a bus, for couriers.
    pub const fn staff(&self) -> &Staff {
        &self.staff
    }

    /// Connects, and keeps connected what comes later, until it is stopped; then
    /// takes nothing more and finishes what was taken.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut ears = Vec::new();
        tokio::select! {
            () = self.connect(&mut ears) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        for agents in self.staff.leave() {
            if let Err(error) = agents.shutdown().await {
                tracing::warn!(%error, "an org's agents did not leave the bus in order");
            }
        }
        for ear in &ears {
            ear.close().await;
        }
        self.trunk.close().await;
    }

    async fn connect(&self, ears: &mut Vec<Consumer>) {
        let outage = Outage::default();
        loop {
            let wait = match self.look(ears).await {
                Ok(()) => {
                    if outage.ends() {
                        tracing::warn!("all agents are on the bus");
                    }
                    LOOK_EVERY
                }
                Err(error) => {
                    if outage.begins() {
                        tracing::warn!(%error, "not all agents are on the bus; conversations go on");
                    }
                    AGAIN_AFTER
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Connects what is not connected yet.
    fn look<'a>(&'a self, ears: &'a mut Vec<Consumer>) -> BoxFuture<'a, Result<(), NotYet>> {
        Box::pin(async move {
            let orgs = self.store.orgs().await?;
            if ears.is_empty() && self.trunk.is_shared() {
                let bus = self.trunk.bus(&self.doors(&orgs))?;
                self.bell.connect(bus.clone());
                *ears = self.bell.listen(&bus).await?;
            }
            for org in orgs {
                self.put_on_bus(org.id).await?;
            }
            Ok(())
        })
    }

    /// What the names of doors begin with: the same in every process of the
    /// installation, and not in another that has the same broker.
    fn doors(&self, orgs: &[Org]) -> String {
        let platform = orgs.iter().find(|org| org.place == Place::Platform);
        let first = || orgs.iter().min_by_key(|org| org.id);
        let prefix = |org: &Org| Stored::new(self.store.clone(), org.id).bus_prefix();
        platform.or_else(first).map_or_else(|| NO_ORG.to_owned(), prefix)
    }

    /// Has an org's agents take what is sent to them.
    async fn put_on_bus(&self, org: OrgId) -> Result<(), NotYet> {
        let mut agents = self.store.org(org).agents().await?;
        agents.retain(Agent::receives_messages);
        if agents.is_empty() {
            return Ok(());
        }
        let there = match self.staff.of(org) {
            Some(there) => there,
            None => {
                let stored = Stored::new(self.store.clone(), org);
                let bus = self.trunk.bus(&stored.bus_prefix())?;
                let builder = AgentRuntime::of_org(bus, &stored);
                let builder = builder.factory(Ai::TYPE, Ai::factory(self.intake.clone()));
                let there = builder.hosting(Hosting::default()).start().await?;
                self.staff.enter(org, there.clone());
                there
            }
        };
        for agent in &agents {
            self.register(&there, agent).await?;
        }
        Ok(())
    }

    /// Writes an agent down under its slug, unless somebody else has that name.
    async fn register(&self, there: &AgentRuntime, agent: &Agent) -> Result<(), NotYet> {
        let Ok(name) = agent.slug.parse() else { return Ok(()) };
        if there.registry().get(&name).await?.is_none() {
            let record = Ai::new(self.intake.clone(), agent.org, agent.id).record(name);
            there.host(record).await?;
        }
        Ok(())
    }
}
