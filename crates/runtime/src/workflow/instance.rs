//! A workflow in the hands of a worker.

use std::collections::BTreeMap;

use ostler_domain::tool::Trust;
use ostler_domain::workflow::{Definition, Progress, Task};
use ostler_store::{ClaimedWorkflow, Heard, StoredTask, WorkflowAnswer};

use super::saved::{Saved, TaskRecord};
use super::values::{Known, Ran};
use crate::talk::{Unreadable, read};

/// A workflow in the hands of a worker.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) definition: Definition,
    pub(super) progress: Progress,
    pub(super) known: Known,
    /// Turns that are not over.
    pub(super) saved: BTreeMap<Task, Saved>,
    /// What was said to it.
    pub(super) heard: Heard,
    /// What it has cost.
    pub(super) spent: u64,
}

impl Instance {
    /// Reads what is stored.
    pub(super) fn read(claimed: &ClaimedWorkflow) -> Result<Self, Unreadable> {
        let stored = &claimed.workflow;
        let (mut results, mut saved) = (BTreeMap::new(), BTreeMap::new());
        for row in &claimed.tasks {
            let Ok(task) = row.task.parse::<Task>() else { continue };
            if let Some(ran) = ran(row)? {
                results.insert(task.clone(), ran);
            }
            if let Some(text) = &row.saved {
                saved.insert(task, read("turn", text)?);
            }
        }
        Ok(Self {
            definition: read("workflow", &stored.definition)?,
            progress: read("workflow", &stored.state)?,
            known: Known { input: read("input", &stored.input)?, results },
            saved,
            heard: claimed.heard.clone(),
            spent: stored.spent,
        })
    }

    /// The answers that a task can go on with.
    pub(super) fn answers_to(&self, task: &Task) -> Vec<(String, String)> {
        let name = task.to_string();
        let mine = self.heard.answers.iter().filter(|one| one.task == name);
        mine.map(|WorkflowAnswer { question, data, .. }| (question.clone(), data.clone())).collect()
    }

    /// Puts back what was taken of a task, since it could not be stored.
    pub(super) fn restore(&mut self, task: &Task, before: (Progress, Option<Ran>)) {
        let (progress, ran) = before;
        self.progress = progress;
        match ran {
            Some(ran) => self.known.results.insert(task.clone(), ran),
            None => self.known.results.remove(task),
        };
    }

    /// What waited and can go on.
    pub(super) fn answered(&self) -> Vec<Task> {
        let waiting = self.progress.suspended().into_iter();
        waiting.filter(|task| !self.answers_to(task).is_empty()).collect()
    }
}

/// What a task came to, if it has come to something.
fn ran(row: &StoredTask) -> Result<Option<Ran>, Unreadable> {
    let Some(text) = row.result.clone() else { return Ok(None) };
    let record: Option<TaskRecord> =
        row.record.as_deref().map(|text| read("record", text)).transpose()?;
    Ok(Some(Ran { text, trust: record.map_or(Trust::Trusted, |record| record.trust) }))
}
