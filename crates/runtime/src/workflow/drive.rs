//! Brings a workflow as far as it comes: everything that can be done side by
//! side is, and each thing that came of it is committed before what follows
//! begins.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::time::Timestamp;
use ostler_domain::workflow::{Came, Task};
use ostler_store::{AfterCommit, ClaimedWorkflow, StoreError, WorkflowLease};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::further::Further;
use super::instance::Instance;
use super::job::Job;
use super::perform::{Performed, perform};
use super::tools::StepTools;
use crate::inbound::RunError;
use crate::inbound::case::Desk;

/// How many tasks of one workflow are in work at once.
const AT_ONCE: usize = 16;
/// How often what tools want stored is worked out anew when others are faster.
const TRIES: u32 = 5;

/// What is under way. Each runs by itself: what it stores may wait for what is
/// stored here, and the other way round. Whoever lets go of it stops it.
type Working = JoinSet<(Task, Result<Performed, StoreError>)>;

/// A workflow that is being driven.
pub(super) struct Drive {
    pub(super) desk: Arc<Desk>,
    pub(super) tools: StepTools,
    pub(super) lease: WorkflowLease,
    pub(super) stop: watch::Receiver<bool>,
}

impl Drive {
    /// Brings a workflow as far as it comes, and lets go of it.
    pub(super) async fn run(&self, claimed: ClaimedWorkflow) -> Result<(), RunError> {
        let mut instance = Instance::read(&claimed)?;
        let mut begun = instance.progress.running();
        if claimed.tries > self.desk.parts.settings.claims.max_attempts {
            give_up(&mut instance, &begun, self.now());
            begun.clear();
        }
        let (mut working, mut came) = (Working::new(), None);
        let mut look_at = self.next_look();
        loop {
            let busy = !working.is_empty() || !begun.is_empty();
            let then = self.further(&mut instance, came.take(), busy, &mut begun).await?;
            if then != AfterCommit::Keep {
                return Ok(());
            }
            for task in begun.drain(..) {
                if let Some(job) = Job::of(&instance, &task) {
                    self.work(&mut working, task, job);
                }
            }
            came = self.wait(&mut working, look_at).await?;
            if Instant::now() >= look_at {
                self.listen(&mut instance).await?;
                look_at = self.next_look();
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.desk.parts.clock.now()
    }

    fn work(&self, working: &mut Working, task: Task, job: Job) {
        let (desk, tools, lease) = (self.desk.clone(), self.tools.clone(), self.lease);
        working.spawn(async move {
            let performed = perform(&desk, &tools, lease, job).await;
            (task, performed)
        });
    }

    /// Takes what came of a task, begins what follows, and commits both. If what
    /// tools want stored cannot be any more, the task has failed.
    async fn further(
        &self,
        instance: &mut Instance,
        came: Option<(Task, Performed)>,
        busy: bool,
        begun: &mut Vec<Task>,
    ) -> Result<AfterCommit, RunError> {
        let Some((task, mut performed)) = came else {
            return Ok(self.commit(instance, Further::default(), busy, begun).await?);
        };
        let before = (instance.progress.clone(), instance.known.results.get(&task).cloned());
        for _ in 0..TRIES {
            let mut further = Further::default();
            let effects = std::mem::take(&mut performed.effects);
            if !effects.is_empty() {
                let planned = (self.desk.parts.effects)(self.lease.org(), effects.clone()).await;
                match planned {
                    Ok(changes) => further.changes = changes,
                    Err(StoreError::Outdated(why)) => {
                        performed.came = Came::Failed { why: why.to_string(), again: true };
                        performed.result = None;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            further.take(instance, &task, &performed, self.now());
            match self.commit(instance, further, busy, begun).await {
                Err(StoreError::Outdated(_)) => {
                    instance.restore(&task, before.clone());
                    begun.clear();
                    performed.effects = effects;
                }
                result => return Ok(result?),
            }
        }
        let why = "others kept changing the same records".to_owned();
        performed.came = Came::Failed { why, again: true };
        performed.result = None;
        let mut further = Further::default();
        further.take(instance, &task, &performed, self.now());
        Ok(self.commit(instance, further, busy, begun).await?)
    }

    /// Begins what can begin and commits how far the workflow is then.
    async fn commit(
        &self,
        instance: &mut Instance,
        further: Further,
        busy: bool,
        begun: &mut Vec<Task>,
    ) -> Result<AfterCommit, StoreError> {
        let before = instance.progress.clone();
        begun.extend(self.begin(instance));
        let then = self.then(instance, busy || !begun.is_empty());
        let quiet = then == AfterCommit::Keep && further.is_empty();
        if quiet && before == instance.progress {
            return Ok(then);
        }
        let (waits, spent) = (further.begins_to_wait(), further.spent());
        let parts = &self.desk.parts;
        let further = further.commit(self.lease, instance, parts.settings.claims.lease, then);
        crate::faults::point("before_step_commit");
        parts.store.commit_workflow(further).await?;
        crate::faults::point("after_step_commit");
        instance.spent += spent;
        if waits && then == AfterCommit::Keep {
            self.listen(instance).await?;
        }
        Ok(then)
    }

    /// What begins now: what was answered, and what waits for nothing more. Who
    /// is told to stop begins nothing.
    fn begin(&self, instance: &mut Instance) -> Vec<Task> {
        if *self.stop.borrow() {
            return Vec::new();
        }
        if instance.heard.cancelled {
            instance.progress.cancel();
        }
        let room = AT_ONCE.saturating_sub(instance.progress.running().len());
        let mut begun = instance.answered();
        begun.truncate(room);
        begun.retain(|task| instance.progress.wake(task));
        let look = instance.known.of(&instance.definition);
        begun.extend(instance.progress.advance(&instance.definition, &look, AT_ONCE, self.now()));
        begun
    }

    fn then(&self, instance: &Instance, busy: bool) -> AfterCommit {
        if instance.progress.status().is_over() {
            return AfterCommit::Over;
        }
        if busy {
            return AfterCommit::Keep;
        }
        let again_in = if *self.stop.borrow() {
            Some(Duration::ZERO)
        } else {
            instance.progress.next_deadline().map(|until| until.since(self.now()))
        };
        AfterCommit::Release { heard: instance.heard.count, again_in }
    }

    /// Waits until something came of a task, or until it is time to hear whether
    /// something was said to the workflow, which is kept meanwhile.
    async fn wait(
        &self,
        working: &mut Working,
        look_at: Instant,
    ) -> Result<Option<(Task, Performed)>, RunError> {
        match tokio::time::timeout_at(look_at, working.join_next()).await {
            Ok(Some(Ok((task, performed)))) => Ok(Some((task, performed?))),
            Ok(Some(Err(_))) => Err(RunError::BrokeDown),
            Ok(None) | Err(_) => Ok(None),
        }
    }

    fn next_look(&self) -> Instant {
        let settings = &self.desk.parts.settings;
        let every = settings.look_every.min(settings.claims.lease / 3);
        Instant::now() + every.max(Duration::from_millis(10))
    }

    async fn listen(&self, instance: &mut Instance) -> Result<(), StoreError> {
        let parts = &self.desk.parts;
        let lasts = parts.settings.claims.lease;
        instance.heard = parts.store.hold_workflow(self.lease, lasts).await?;
        Ok(())
    }
}

/// Nobody takes a workflow up for ever that ends every process at the same place.
fn give_up(instance: &mut Instance, begun: &[Task], now: Timestamp) {
    for task in begun {
        let why = "the process that worked on it died again and again".to_owned();
        let came = Came::Failed { why, again: false };
        let look = instance.known.of(&instance.definition);
        instance.progress.came(&instance.definition, &look, task, came, now);
    }
}
