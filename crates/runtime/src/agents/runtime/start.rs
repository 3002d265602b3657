//! Starts agents.
//!
//! A start runs in a task of its own. If its caller is cancelled, the start is
//! undone and leaves nothing behind; when it returns, it is complete.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostler_bus::now;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::selection::Availability;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{AgentRuntime, AgentSlot};
use crate::agents::agent::{DynAgent, QueueAgent};
use crate::agents::error::{QueueError, Result};
use crate::agents::harness::{QueueAgentHarness, QueueSources};
use crate::agents::registry::{AgentRecord, Placement};
use crate::agents::spec::{AgentSpec, TeamWork};

/// The result of an operation, which is undone if it does not reach the caller.
pub(super) struct Undoable<T> {
    value: Option<T>,
    undo: Option<Box<dyn FnOnce() + Send>>,
}

impl<T> Undoable<T> {
    pub(super) fn new(value: T, undo: impl FnOnce() + Send + 'static) -> Self {
        Self { value: Some(value), undo: Some(Box::new(undo)) }
    }

    /// Takes the result and keeps its effects.
    fn keep(mut self) -> Option<T> {
        self.undo = None;
        self.value.take()
    }
}

impl<T> Drop for Undoable<T> {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            undo();
        }
    }
}

/// Runs an operation in a separate task, so that it completes even if the
/// caller is cancelled; its effects are then undone.
pub(super) async fn run_undoable<T: Send + 'static>(
    operation: impl Future<Output = Result<Undoable<T>>> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(async move {
        let _caller_gone = sender.send(operation.await);
    });
    let undoable = receiver.await.map_err(|_| QueueError::Stopped)??;
    undoable.keep().ok_or(QueueError::Stopped)
}

/// An agent to start.
pub(super) struct StartRequest {
    pub(super) spec: AgentSpec,
    pub(super) agent: Arc<dyn DynAgent>,
    pub(super) team: Option<TeamName>,
}

/// The state of an agent before it was started.
pub(super) struct PreviousState {
    record: Option<AgentRecord>,
    /// The teams that it returns to.
    teams: Vec<TeamName>,
}

impl AgentRuntime {
    /// Starts an agent: registers it and consumes its queue. If this call is
    /// cancelled, both are undone.
    pub async fn start(&self, spec: AgentSpec, agent: impl QueueAgent) -> Result<AgentName> {
        self.start_or_undo(StartRequest { spec, agent: Arc::new(agent), team: None }).await
    }

    /// Starts an agent in a team. The first agent of a new team leads it.
    pub async fn start_in_team(
        &self,
        team: &TeamName,
        spec: AgentSpec,
        agent: impl QueueAgent,
    ) -> Result<AgentName> {
        let team = Some(team.clone());
        self.start_or_undo(StartRequest { spec, agent: Arc::new(agent), team }).await
    }

    /// Starts a registered agent with the factory of its type.
    pub async fn start_registered(&self, name: &AgentName) -> Result<AgentName> {
        let request = self.load_registered(name, None).await?;
        self.start_or_undo(request).await
    }

    pub(super) async fn load_registered(
        &self,
        name: &AgentName,
        team: Option<TeamName>,
    ) -> Result<StartRequest> {
        let record = self.0.registry.get(name).await?;
        let record = record.ok_or_else(|| QueueError::UnknownAgent(name.clone()))?;
        if record.placement == Placement::Hosted {
            return Err(QueueError::PlacementConflict(name.clone()));
        }
        let agent = self.0.factories.make(&record)?;
        Ok(StartRequest { spec: AgentSpec::from_record(&record), agent, team })
    }

    pub(super) async fn start_or_undo(&self, request: StartRequest) -> Result<AgentName> {
        let runtime = self.clone();
        run_undoable(async move {
            let name = request.spec.name.clone();
            let (harness, before) = runtime.start_agent(request).await?;
            Ok(Undoable::new(name, move || runtime.spawn_undo_start(harness, before)))
        })
        .await
    }

    /// Starts an agent and returns its previous state.
    pub(super) async fn start_agent(
        &self,
        request: StartRequest,
    ) -> Result<(Arc<QueueAgentHarness>, PreviousState)> {
        let name = request.spec.name.clone();
        self.reserve(&name)?;
        let started = self.start_reserved(request).await;
        let mut agents = self.agents();
        let result = match started {
            Ok((harness, before)) => {
                agents.insert(name, AgentSlot::Running(Arc::clone(&harness)));
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
        agents.insert(name.clone(), AgentSlot::Starting);
        Ok(())
    }

    async fn start_reserved(
        &self,
        request: StartRequest,
    ) -> Result<(Arc<QueueAgentHarness>, PreviousState)> {
        let StartRequest { spec, agent, team } = request;
        let before = PreviousState {
            record: self.0.registry.get(&spec.name).await?,
            teams: self.current_teams_of(&spec.name).await?,
        };
        let in_team = team.is_some() || !before.teams.is_empty();
        let shares = in_team && spec.team_work == TeamWork::Shared;
        let sources = if shares { QueueSources::Several } else { QueueSources::One };
        let record = AgentRecord {
            availability: Availability::Available,
            available_until: Some(now() + self.0.options.presence_ttl),
            ..spec.record()
        };
        self.0.registry.register(record).await?;
        self.0.routes.forget(&spec.name);
        let harness = QueueAgentHarness::new(spec, agent, Arc::downgrade(&self.0), sources);
        match self.activate(&harness, &before.teams, team.as_ref()).await {
            Ok(()) => Ok((harness, before)),
            Err(error) => {
                self.undo_start(&harness, before).await;
                Err(error)
            }
        }
    }

    async fn activate(
        &self,
        harness: &Arc<QueueAgentHarness>,
        known: &[TeamName],
        team: Option<&TeamName>,
    ) -> Result<()> {
        let name = &harness.spec.name;
        for team in known {
            harness.enter_team(team.clone());
            self.0.bus.join_team(team, name).await?;
        }
        if let Some(team) = team {
            self.join_or_create_team(team, harness).await?;
        }
        harness.consume(&self.0).await?;
        for entered in harness.teams() {
            match self.report_started(&entered, name).await {
                // The team was dissolved or the agent removed meanwhile.
                Err(QueueError::Team(_)) if team != Some(&entered) => {
                    harness.leave_team(&entered);
                    self.0.bus.leave_team(&entered, name).await?;
                }
                reported => reported?,
            }
        }
        Ok(())
    }

    /// Undoes a start and restores the previous state.
    async fn undo_start(&self, harness: &Arc<QueueAgentHarness>, before: PreviousState) {
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
            tracing::warn!(agent = %name, %error, "previous agent record not restored after a cancelled start");
        }
    }

    fn spawn_undo_start(self, harness: Arc<QueueAgentHarness>, before: PreviousState) {
        // Without a runtime nothing is left to undo.
        let Ok(handle) = Handle::try_current() else { return };
        handle.spawn(async move {
            self.undo_start(&harness, before).await;
            self.remove_running(&harness);
        });
    }
}
