//! Agents coming. A start that is cancelled leaves nothing behind.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostler_bus::now;
use ostler_domain::dispatch::choice::Availability;
use ostler_domain::dispatch::name::{AgentName, TeamName};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{AgentRuntime, Entry};
use crate::queue::agent::{Agent, AnyAgent};
use crate::queue::error::{QueueError, Result};
use crate::queue::harness::{Harness, Sources};
use crate::queue::registry::{AgentRecord, Placement};
use crate::queue::spec::{Spec, TeamWork};

/// Something that was made for a caller. If it never arrives there, it is
/// undone.
pub(super) struct Made<T> {
    value: Option<T>,
    undo: Option<Box<dyn FnOnce() + Send>>,
}

impl<T> Made<T> {
    pub(super) fn new(value: T, undo: impl FnOnce() + Send + 'static) -> Self {
        Self { value: Some(value), undo: Some(Box::new(undo)) }
    }

    /// It arrived.
    fn keep(mut self) -> Option<T> {
        self.undo = None;
        self.value.take()
    }
}

impl<T> Drop for Made<T> {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            undo();
        }
    }
}

/// Makes something in a task of its own, so that it is made whole even if the
/// caller goes away; then it is undone.
pub(super) async fn make<T: Send + 'static>(
    making: impl Future<Output = Result<Made<T>>> + Send + 'static,
) -> Result<T> {
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let _nobody_waits = tell.send(making.await);
    });
    let made = told.await.map_err(|_| QueueError::Stopped)??;
    made.keep().ok_or(QueueError::Stopped)
}

/// What an agent is started with.
pub(super) struct Boot {
    pub(super) spec: Spec,
    pub(super) agent: Arc<dyn AnyAgent>,
    pub(super) team: Option<TeamName>,
}

/// What there was of an agent before it was started.
pub(super) struct Before {
    record: Option<AgentRecord>,
    /// The teams that it comes back to.
    teams: Vec<TeamName>,
}

impl AgentRuntime {
    /// Starts an agent: it is registered, and its queue is consumed. If this is
    /// cancelled, it is neither.
    pub async fn start(&self, spec: Spec, agent: impl Agent) -> Result<AgentName> {
        self.start_boot(Boot { spec, agent: Arc::new(agent), team: None }).await
    }

    /// Starts an agent in a team. The first agent of a team that does not exist
    /// leads it.
    pub async fn start_in_team(
        &self,
        team: &TeamName,
        spec: Spec,
        agent: impl Agent,
    ) -> Result<AgentName> {
        let team = Some(team.clone());
        self.start_boot(Boot { spec, agent: Arc::new(agent), team }).await
    }

    /// Starts the agent that a record describes, with the factory of its type.
    pub async fn start_recorded(&self, name: &AgentName) -> Result<AgentName> {
        let boot = self.recorded(name, None).await?;
        self.start_boot(boot).await
    }

    pub(super) async fn recorded(&self, name: &AgentName, team: Option<TeamName>) -> Result<Boot> {
        let record = self.0.registry.get(name).await?;
        let record = record.ok_or_else(|| QueueError::UnknownAgent(name.clone()))?;
        if record.placement == Placement::Hosted {
            return Err(QueueError::Placement(name.clone()));
        }
        let agent = self.0.factories.make(&record)?;
        Ok(Boot { spec: Spec::of_record(&record), agent, team })
    }

    pub(super) async fn start_boot(&self, boot: Boot) -> Result<AgentName> {
        let runtime = self.clone();
        make(async move {
            let name = boot.spec.name.clone();
            let (harness, before) = runtime.boot(boot).await?;
            Ok(Made::new(name, move || runtime.undo_start(harness, before)))
        })
        .await
    }

    /// Starts an agent; returns what there was of it before.
    pub(super) async fn boot(&self, boot: Boot) -> Result<(Arc<Harness>, Before)> {
        let name = boot.spec.name.clone();
        self.reserve(&name)?;
        let started = self.boot_reserved(boot).await;
        let mut agents = self.agents();
        let result = match started {
            Ok((harness, before)) => {
                agents.insert(name, Entry::Running(Arc::clone(&harness)));
                Ok((harness, before))
            }
            Err(error) => {
                agents.remove(&name);
                Err(error)
            }
        };
        drop(agents);
        self.0.changed.notify_waiters();
        result
    }

    fn reserve(&self, name: &AgentName) -> Result<()> {
        let mut agents = self.agents();
        if self.0.stopped.load(Ordering::SeqCst) {
            return Err(QueueError::Stopped);
        }
        if agents.contains_key(name) {
            return Err(QueueError::AlreadyRunning(name.clone()));
        }
        agents.insert(name.clone(), Entry::Starting);
        Ok(())
    }

    async fn boot_reserved(&self, boot: Boot) -> Result<(Arc<Harness>, Before)> {
        let Boot { spec, agent, team } = boot;
        let before = Before {
            record: self.0.registry.get(&spec.name).await?,
            teams: self.open_teams_of(&spec.name).await?,
        };
        let in_team = team.is_some() || !before.teams.is_empty();
        let shares = in_team && spec.team_work == TeamWork::Shared;
        let sources = if shares { Sources::Several } else { Sources::One };
        let record = AgentRecord {
            availability: Availability::Available,
            available_until: Some(now() + self.0.options.presence),
            ..spec.record()
        };
        self.0.registry.register(record).await?;
        self.0.routes.forget(&spec.name);
        let harness = Harness::new(spec, agent, Arc::downgrade(&self.0), sources);
        match self.open(&harness, &before.teams, team.as_ref()).await {
            Ok(()) => Ok((harness, before)),
            Err(error) => {
                self.take_back(&harness, before).await;
                Err(error)
            }
        }
    }

    async fn open(
        &self,
        harness: &Arc<Harness>,
        known: &[TeamName],
        team: Option<&TeamName>,
    ) -> Result<()> {
        let name = &harness.spec.name;
        for team in known {
            harness.enter_team(team.clone());
            self.0.bus.join(team, name).await?;
        }
        if let Some(team) = team {
            self.enrol(team, harness).await?;
        }
        harness.consume(&self.0).await?;
        for entered in harness.teams() {
            match self.report_started(&entered, name).await {
                // It was dissolved, or the agent was taken out, in the meantime.
                Err(QueueError::Team(_)) if team != Some(&entered) => {
                    harness.leave_team(&entered);
                    self.0.bus.leave(&entered, name).await?;
                }
                reported => reported?,
            }
        }
        Ok(())
    }

    /// Undoes a start: nothing of the agent stays but what was there before.
    async fn take_back(&self, harness: &Arc<Harness>, before: Before) {
        for team in &before.teams {
            harness.leave_team(team);
        }
        self.leave_teams(harness).await;
        harness.close().await;
        let name = &harness.spec.name;
        let undone = match before.record {
            Some(record) => self.0.registry.register(record).await,
            None => self.0.registry.remove(name).await.map(drop),
        };
        if let Err(error) = undone {
            tracing::warn!(agent = %name, %error, "the record of a cancelled start stayed");
        }
    }

    fn undo_start(self, harness: Arc<Harness>, before: Before) {
        // Without a reactor everything is gone anyway.
        let Ok(reactor) = Handle::try_current() else { return };
        reactor.spawn(async move {
            self.take_back(&harness, before).await;
            self.forget_running(&harness);
        });
    }
}
