//! Workflows: what holds for every graph and every order of events.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::time::Timestamp;
use ostler_domain::workflow::{
    Came, Definition, Progress, Reference, Standing, Status, Task, Template, Values,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::check;

/// Nobody looks at results here; a list has three parts.
struct Nothing(Cell<u32>);

impl Values for Nothing {
    fn text(&self, _: &Reference, _: &Task) -> Option<String> {
        self.0.set(self.0.get() + 1);
        // Conditions hold now and then.
        Some(if self.0.get().is_multiple_of(3) { "good" } else { "bad" }.to_owned())
    }

    fn count(&self, _: &Template, _: &Task) -> Result<usize, String> {
        Ok(3)
    }
}

/// A step: which of those before it it waits for, and what else it has.
#[derive(Debug, Clone)]
struct Drawn {
    after: u16,
    kind: u8,
    undo: bool,
    retries: u32,
    when: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let parts = (any::<u16>(), 0u8..4, any::<bool>(), 0u32..3, prop::bool::weighted(0.2));
    parts.prop_map(|(after, kind, undo, retries, when)| Drawn { after, kind, undo, retries, when })
}

fn definition(steps: &[Drawn]) -> Definition {
    let condition = json!({"value": "{{input.x}}", "equals": "good"});
    let mut written = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let after: Vec<String> =
            (0..at).filter(|bit| step.after >> bit & 1 == 1).map(|bit| format!("s{bit}")).collect();
        let mut one = json!({"id": format!("s{at}"), "after": after, "value": ""});
        match step.kind {
            1 => one["for_each"] = json!("[1, 2, 3]"),
            2 => one["repeat"] = json!({"most": 3, "until": condition}),
            _ => {}
        }
        if step.undo && step.kind != 1 {
            one["undo"] = json!({"value": ""});
        }
        if step.retries > 0 {
            one["retries"] = json!(step.retries);
        }
        if step.when {
            one["when"] = condition.clone();
        }
        written.push(one);
    }
    // Written backwards: the order in a file means nothing.
    written.reverse();
    let whole: Value = json!({"name": "drawn", "inputs": ["x"], "step": written});
    serde_json::from_value(whole).unwrap_or_else(|error| unreachable!("{error}"))
}

/// What is known of a play.
#[derive(Default)]
struct Seen {
    starts: BTreeMap<Task, u32>,
    /// As which of all each step was done.
    done: BTreeMap<String, u32>,
    undone: Vec<String>,
}

/// X52, X53, X55, X56, X68: nothing begins before all it waits for is over, and
/// not more often than it is tried or repeated; what was done is taken back in
/// exactly the reverse order; and the whole ends once, whatever fails and
/// whatever is suspended, stored and cancelled in between.
#[test]
fn x52_x53_every_graph_ends_once_and_in_order() {
    let play =
        (prop::collection::vec(drawn(), 1..9), prop::collection::vec(any::<(u8, u16)>(), 0..200));
    check(400, &play, |(steps, events)| {
        let definition = definition(&steps);
        let values = Nothing(Cell::new(0));
        let (mut progress, mut seen) = (Progress::new(&definition), Seen::default());
        let (now, most) = (Timestamp::from_millis(0), 3);
        let mut events = events.into_iter();
        for _ in 0..10_000 {
            let begun = progress.advance(&definition, &values, most, now);
            prop_assert!(progress.running().len() <= most);
            begins(&definition, &progress, &mut seen, begun)?;
            if progress.status().is_over() {
                break;
            }
            // What is stored and read again is the same.
            let text = serde_json::to_string(&progress).unwrap_or_default();
            let read: Option<Progress> = serde_json::from_str(&text).ok();
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
                waiting.iter().take(most).for_each(|task| assert!(progress.wake(task)));
                continue;
            };
            let came = match what % 8 {
                0 => Came::Suspended,
                1 => Came::Failed { why: "no".into(), again: true },
                2 if which.is_multiple_of(4) => Came::Failed { why: "no".into(), again: false },
                _ => Came::Done,
            };
            // What comes when nothing more is drawn is a result.
            let came = if (what, which) == (0, 0) { Came::Done } else { came };
            if came == Came::Done && task.undo {
                seen.undone.push(task.step.to_string());
            }
            prop_assert!(progress.came(&definition, &values, &task, came.clone(), now));
            prop_assert!(
                !progress.came(&definition, &values, &task, came, now),
                "it is not running"
            );
        }
        ended(&definition, &mut progress, &values, &seen)
    });
}

/// Whatever begins has nothing open before it.
fn begins(
    definition: &Definition,
    progress: &Progress,
    seen: &mut Seen,
    begun: Vec<Task>,
) -> Result<(), TestCaseError> {
    for task in begun {
        let step = definition.step(&task.step).unwrap_or_else(|| unreachable!("{task}"));
        if !task.undo {
            for before in &step.after {
                let over = matches!(
                    progress.standing(before),
                    Some(Standing::Done { .. } | Standing::Skipped)
                );
                prop_assert!(over, "{task} began before {before} was over");
            }
        }
        let starts = seen.starts.entry(task.clone()).or_default();
        *starts += 1;
        let rounds = if task.undo { 1 } else { step.repeat.as_ref().map_or(1, |one| one.most) };
        prop_assert!(*starts <= rounds * (step.retries + 1), "{task} began {starts} times");
    }
    for step in definition.steps() {
        if let Some(Standing::Done { nth }) = progress.standing(&step.id) {
            seen.done.insert(step.id.to_string(), *nth);
        }
    }
    Ok(())
}

fn ended(
    definition: &Definition,
    progress: &mut Progress,
    values: &Nothing,
    seen: &Seen,
) -> Result<(), TestCaseError> {
    let status = progress.status();
    prop_assert!(status.is_over(), "{status:?}");
    let again = progress.advance(definition, values, 3, Timestamp::from_millis(0));
    prop_assert!(again.is_empty() && !progress.cancel());
    prop_assert_eq!(progress.status(), status);
    let standing = |name: &str| {
        let name = name.parse().ok();
        name.and_then(|name| progress.standing(&name)).cloned()
    };
    if status == Status::Done {
        prop_assert!(seen.undone.is_empty());
    } else {
        // Those that were done last are taken back first, and all are tried.
        let left: Vec<&str> = definition
            .steps()
            .iter()
            .filter(|step| step.undo.is_some())
            .filter(|step| matches!(standing(step.id.as_str()), Some(Standing::Done { .. })))
            .map(|step| step.id.as_str())
            .collect();
        prop_assert!(left.is_empty(), "{left:?} can be taken back");
        let unique: BTreeSet<&String> = seen.undone.iter().collect();
        prop_assert_eq!(unique.len(), seen.undone.len());
        // One that ended after the workflow was given up is taken back at once.
        let place = |name: &String| seen.done.get(name).copied();
        let known: Vec<u32> = seen.undone.iter().filter_map(place).collect();
        let mut sorted = known.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        prop_assert_eq!(known, sorted);
    }
    Ok(())
}
