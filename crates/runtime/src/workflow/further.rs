//! What is committed together when a workflow comes a step further.

use std::time::Duration;

use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::Task;
use ostler_store::{
    AfterCommit, Change, Settle, StoredTask, WorkflowCommit, WorkflowLease, WorkflowWait,
};

use super::instance::Instance;
use super::perform::Performed;
use super::saved::TaskRecord;
use crate::talk::write;

/// A step further.
#[derive(Debug, Default)]
pub(super) struct Further {
    pub(super) changes: Vec<Change>,
    tasks: Vec<StoredTask>,
    taken: Vec<(String, String)>,
    waits: Vec<WorkflowWait>,
    settle: Option<Settle>,
    spent: u64,
}

impl Further {
    pub(super) const fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) const fn begins_to_wait(&self) -> bool {
        !self.waits.is_empty()
    }

    /// Takes what came of a task.
    pub(super) fn take(
        &mut self,
        instance: &mut Instance,
        task: &Task,
        performed: &Performed,
        now: Timestamp,
    ) {
        let Performed { came, result, saved, record, taken, settle, waits, .. } = performed;
        let name = task.to_string();
        let trust = result.as_ref().map(|ran| ran.trust);
        let record = record.clone().or_else(|| {
            let (decisions, charges) = (Vec::new(), Vec::new());
            trust.map(|trust| TaskRecord { at: now, trust, decisions, charges })
        });
        self.tasks.push(StoredTask {
            task: name.clone(),
            result: result.as_ref().map(|ran| ran.text.clone()),
            saved: saved.as_ref().map(write),
            record: record.as_ref().map(write),
        });
        self.taken.extend(taken.iter().map(|question| (name.clone(), question.clone())));
        if let Some((event, question)) = waits {
            let (event, question) = (event.clone(), question.clone());
            self.waits.push(WorkflowWait { task: name.clone(), event, question });
        }
        if let Some(settle) = settle {
            let cost: Credits = settle.charges.iter().map(|charge| charge.amount).sum();
            self.spent = cost.get();
            self.settle = Some(settle.clone());
        }
        instance.heard.answers.retain(|one| one.task != name || !taken.contains(&one.question));
        match saved {
            Some(saved) => instance.saved.insert(task.clone(), saved.clone()),
            None => instance.saved.remove(task),
        };
        if let Some(ran) = result {
            instance.known.results.insert(task.clone(), ran.clone());
        }
        let look = instance.known.of(&instance.definition);
        let taken = instance.progress.came(&instance.definition, &look, task, came.clone(), now);
        debug_assert!(taken, "{task} was not running");
    }

    /// What it cost.
    pub(super) const fn spent(&self) -> u64 {
        self.spent
    }

    /// All of it, for the store.
    pub(super) fn commit(
        self,
        lease: WorkflowLease,
        instance: &Instance,
        lasts: Duration,
        then: AfterCommit,
    ) -> WorkflowCommit {
        WorkflowCommit {
            lease,
            status: instance.progress.status().name().to_owned(),
            state: write(&instance.progress),
            spent: self.spent,
            tasks: self.tasks,
            taken: self.taken,
            waits: self.waits,
            waits_over: instance.progress.stop().is_some(),
            changes: self.changes,
            settle: self.settle.into_iter().collect(),
            lasts,
            then,
        }
    }
}
