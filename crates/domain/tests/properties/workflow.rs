//! Workflows: what holds for every graph and every order of events.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::time::Timestamp;
use ostler_domain::workflow::{
    Condition, StepOutcome, StepStatus, Task, Template, Values, WorkflowDefinition,
    WorkflowProgress, WorkflowStatus,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::check;

/// Conditions hold every third time; a list has three items.
struct FakeValues(Cell<u32>);

impl Values for FakeValues {
    fn holds(&self, _: &Condition, _: &Task) -> Result<bool, String> {
        self.0.set(self.0.get() + 1);
        Ok(self.0.get().is_multiple_of(3))
    }

    fn count(&self, _: &Template, _: &Task) -> Result<usize, String> {
        Ok(3)
    }
}

/// A generated step; `after` is a bit set of earlier steps.
#[derive(Debug, Clone)]
struct GeneratedStep {
    after: u16,
    kind: u8,
    undo: bool,
    retries: u32,
    when: bool,
}

fn generated_steps() -> impl Strategy<Value = GeneratedStep> {
    let fields = (any::<u16>(), 0u8..4, any::<bool>(), 0u32..3, prop::bool::weighted(0.2));
    fields.prop_map(|(after, kind, undo, retries, when)| GeneratedStep {
        after,
        kind,
        undo,
        retries,
        when,
    })
}

fn definition(steps: &[GeneratedStep]) -> WorkflowDefinition {
    let condition = "input.x == 'good'";
    let mut written = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let after: Vec<String> =
            (0..at).filter(|bit| step.after >> bit & 1 == 1).map(|bit| format!("s{bit}")).collect();
        let mut entry = json!({"id": format!("s{at}"), "after": after, "value": ""});
        match step.kind {
            1 => entry["for_each"] = json!("[1, 2, 3]"),
            2 => entry["repeat"] = json!({"max": 3, "until": condition}),
            _ => {}
        }
        if step.undo && step.kind != 1 {
            entry["undo"] = json!({"value": ""});
        }
        if step.retries > 0 {
            entry["retries"] = json!(step.retries);
        }
        if step.when {
            entry["when"] = json!(condition);
        }
        written.push(entry);
    }
    // In reverse: the order in a file has no meaning.
    written.reverse();
    let whole: Value = json!({"name": "generated", "inputs": ["x"], "step": written});
    serde_json::from_value(whole).unwrap_or_else(|error| unreachable!("{error}"))
}

/// What a run of the simulation has shown.
#[derive(Default)]
struct Observed {
    starts: BTreeMap<Task, u32>,
    /// Position of each step in order of completion.
    done: BTreeMap<String, u32>,
    undone: Vec<String>,
}

/// X52, X53, X55, X56, X68: no step starts before its predecessors are over, nor more often
/// than its retries and rounds allow; completed steps are undone in exactly the reverse
/// order; and the workflow ends once, whatever fails, is suspended, stored or cancelled in
/// between.
#[test]
fn x52_x53_every_graph_ends_once_and_in_order() {
    let runs = (
        prop::collection::vec(generated_steps(), 1..9),
        prop::collection::vec(any::<(u8, u16)>(), 0..200),
    );
    check(400, &runs, |(steps, events)| {
        let definition = definition(&steps);
        let values = FakeValues(Cell::new(0));
        let (mut progress, mut observed) =
            (WorkflowProgress::new(&definition), Observed::default());
        let (now, limit) = (Timestamp::from_millis(0), 3);
        let mut events = events.into_iter();
        for _ in 0..10_000 {
            let started = progress.advance(&definition, &values, limit, now);
            prop_assert!(progress.running().len() <= limit);
            check_started(&definition, &progress, &mut observed, started)?;
            if progress.status().is_over() {
                break;
            }
            // The progress survives serialization.
            let text = serde_json::to_string(&progress).unwrap_or_default();
            let read: Option<WorkflowProgress> = serde_json::from_str(&text).ok();
            prop_assert_eq!(read.as_ref(), Some(&progress));
            let (what, which) = events.next().unwrap_or((0, 0));
            if what == 255 {
                progress.cancel();
                continue;
            }
            let (running, waiting) = (progress.running(), progress.suspended());
            let Some(task) = running.get(usize::from(which) % running.len().max(1)).cloned() else {
                let all = !waiting.is_empty();
                prop_assert!(all, "nothing runs, nothing waits, and it is not over");
                waiting.iter().take(limit).for_each(|task| assert!(progress.wake(task)));
                continue;
            };
            let outcome = match what % 8 {
                0 => StepOutcome::Suspended,
                1 => StepOutcome::Failed { reason: "no".into(), retryable: true },
                2 if which.is_multiple_of(4) => {
                    StepOutcome::Failed { reason: "no".into(), retryable: false }
                }
                _ => StepOutcome::Done,
            };
            // Without further events every task succeeds.
            let outcome = if (what, which) == (0, 0) { StepOutcome::Done } else { outcome };
            if outcome == StepOutcome::Done && task.undo {
                observed.undone.push(task.step.to_string());
            }
            prop_assert!(progress.complete(&definition, &values, &task, outcome.clone(), now));
            prop_assert!(
                !progress.complete(&definition, &values, &task, outcome, now),
                "it is not running"
            );
        }
        check_end(&definition, &mut progress, &values, &observed)
    });
}

/// Checks that the predecessors of started tasks are over.
fn check_started(
    definition: &WorkflowDefinition,
    progress: &WorkflowProgress,
    observed: &mut Observed,
    started: Vec<Task>,
) -> Result<(), TestCaseError> {
    for task in started {
        let step = definition.step(&task.step).unwrap_or_else(|| unreachable!("{task}"));
        if !task.undo {
            for before in &step.after {
                let over = matches!(
                    progress.step_status(before),
                    Some(StepStatus::Done { .. } | StepStatus::Skipped)
                );
                prop_assert!(over, "{task} began before {before} was over");
            }
        }
        let starts = observed.starts.entry(task.clone()).or_default();
        *starts += 1;
        let rounds =
            if task.undo { 1 } else { step.repeat.as_ref().map_or(1, |repeat| repeat.max_rounds) };
        prop_assert!(*starts <= rounds * (step.retries + 1), "{task} began {starts} times");
    }
    for step in definition.steps() {
        if let Some(StepStatus::Done { order }) = progress.step_status(&step.id) {
            observed.done.insert(step.id.to_string(), *order);
        }
    }
    Ok(())
}

fn check_end(
    definition: &WorkflowDefinition,
    progress: &mut WorkflowProgress,
    values: &FakeValues,
    observed: &Observed,
) -> Result<(), TestCaseError> {
    let status = progress.status();
    prop_assert!(status.is_over(), "{status:?}");
    let again = progress.advance(definition, values, 3, Timestamp::from_millis(0));
    prop_assert!(again.is_empty() && !progress.cancel());
    prop_assert_eq!(progress.status(), status);
    let step_status = |name: &str| {
        let name = name.parse().ok();
        name.and_then(|name| progress.step_status(&name)).cloned()
    };
    if status == WorkflowStatus::Done {
        prop_assert!(observed.undone.is_empty());
    } else {
        // Steps are undone in reverse order of completion, and all are tried.
        let left: Vec<&str> = definition
            .steps()
            .iter()
            .filter(|step| step.undo.is_some())
            .filter(|step| matches!(step_status(step.id.as_str()), Some(StepStatus::Done { .. })))
            .map(|step| step.id.as_str())
            .collect();
        prop_assert!(left.is_empty(), "{left:?} can be undone");
        let unique: BTreeSet<&String> = observed.undone.iter().collect();
        prop_assert_eq!(unique.len(), observed.undone.len());
        // A step that ended after the workflow was stopped is undone at once.
        let position = |name: &String| observed.done.get(name).copied();
        let known: Vec<u32> = observed.undone.iter().filter_map(position).collect();
        let mut sorted = known.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        prop_assert_eq!(known, sorted);
    }
    Ok(())
}
