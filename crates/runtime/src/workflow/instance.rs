//! A claimed workflow in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use ostler_domain::tool::Trust;
use ostler_domain::workflow::{Task, WorkflowDefinition, WorkflowProgress};
use ostler_store::{ClaimedWorkflow, StoredTask, WorkflowAnswer, WorkflowSignals};

use super::checkpoint::{StepCheckpoint, TaskRecord};
use super::values::{StepOutput, WorkflowData};
use crate::records::{UnreadableRecord, decode};

/// A claimed workflow in memory.
#[derive(Debug)]
pub(super) struct WorkflowInstance {
    pub(super) definition: WorkflowDefinition,
    pub(super) progress: WorkflowProgress,
    /// The progress that is stored.
    pub(super) committed: WorkflowProgress,
    pub(super) data: WorkflowData,
    /// Tasks that are not finished.
    pub(super) checkpoints: BTreeMap<Task, StepCheckpoint>,
    /// Answers and cancellation received from people.
    pub(super) signals: WorkflowSignals,
    /// In credits.
    pub(super) spent: u64,
    /// The names of the workflows above and of this one.
    pub(super) lineage: Vec<String>,
    pub(super) has_parent: bool,
}

impl WorkflowInstance {
    /// Decodes a claimed workflow.
    pub(super) fn read(claimed: &ClaimedWorkflow) -> Result<Self, UnreadableRecord> {
        let stored = &claimed.workflow;
        let (mut results, mut checkpoints) = (BTreeMap::new(), BTreeMap::new());
        for row in &claimed.tasks {
            let Ok(task) = row.task.parse::<Task>() else { continue };
            if let Some(output) = decode_output(row)? {
                results.insert(task.clone(), output);
            }
            if let Some(text) = &row.checkpoint {
                checkpoints.insert(task, decode("turn", text)?);
            }
        }
        let progress: WorkflowProgress = decode("workflow", &stored.state)?;
        Ok(Self {
            definition: decode("workflow", &stored.definition)?,
            committed: progress.clone(),
            progress,
            data: WorkflowData {
                input: decode("input", &stored.input)?,
                input_trust: if stored.untrusted { Trust::Untrusted } else { Trust::Trusted },
                results,
                lists: Mutex::default(),
            },
            checkpoints,
            signals: claimed.signals.clone(),
            spent: stored.spent,
            lineage: stored.ancestors.iter().chain([&stored.name]).cloned().collect(),
            has_parent: stored.parent.is_some(),
        })
    }

    /// Returns the answers to the questions of a task.
    pub(super) fn answers_to(&self, task: &Task) -> Vec<(String, String)> {
        let name = task.to_string();
        let mine = self.signals.answers.iter().filter(|answer| answer.task == name);
        mine.map(|WorkflowAnswer { question, data, .. }| (question.clone(), data.clone())).collect()
    }

    /// Restores the state of a task whose result could not be stored.
    pub(super) fn restore(&mut self, task: &Task, before: (WorkflowProgress, Option<StepOutput>)) {
        let (progress, output) = before;
        self.progress = progress;
        match output {
            Some(output) => self.data.results.insert(task.clone(), output),
            None => self.data.results.remove(task),
        };
    }

    /// Returns suspended tasks with an answer.
    pub(super) fn answered_tasks(&self) -> Vec<Task> {
        let waiting = self.progress.suspended().into_iter();
        waiting.filter(|task| !self.answers_to(task).is_empty()).collect()
    }
}

/// Returns the output of a task, if it has one.
fn decode_output(row: &StoredTask) -> Result<Option<StepOutput>, UnreadableRecord> {
    let Some(text) = row.result.clone() else { return Ok(None) };
    let record: Option<TaskRecord> =
        row.record.as_deref().map(|text| decode("record", text)).transpose()?;
    Ok(Some(StepOutput::new(text, record.map_or(Trust::Trusted, |record| record.trust))))
}
