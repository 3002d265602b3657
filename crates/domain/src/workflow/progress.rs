//! Where a workflow stands, and what begins next.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::definition::MOST_PARTS;
use super::standing::{At, Came, Part, Standing, Status, Stop};
use super::{Definition, Step, StepName, Task, Values, Work};
use crate::time::Timestamp;

/// Where a workflow stands. Results are not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    steps: BTreeMap<StepName, Standing>,
    /// Why nothing more begins, but for undoing.
    stop: Option<Stop>,
    /// How many steps are done.
    done: u32,
}

impl Progress {
    /// Nothing has begun.
    pub fn new(definition: &Definition) -> Self {
        let steps = definition.steps().iter().map(|step| (step.id.clone(), Standing::Waiting));
        Self { steps: steps.collect(), stop: None, done: 0 }
    }

    /// Where a step stands.
    pub fn standing(&self, step: &StepName) -> Option<&Standing> {
        self.steps.get(step)
    }

    /// Why it was given up, if it was.
    pub const fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Everything that somebody is at. After a crash nobody is, and all of it is
    /// taken up again.
    pub fn running(&self) -> Vec<Task> {
        self.tasks(|part| part.at == At::Running)
    }

    /// Everything that waits for a person or for something to happen.
    pub fn suspended(&self) -> Vec<Task> {
        self.tasks(|part| matches!(part.at, At::Suspended { .. }))
    }

    /// The part that a task is about.
    pub fn part(&self, task: &Task) -> Option<&Part> {
        match self.steps.get(&task.step)? {
            Standing::Working { parts, .. } if !task.undo => parts.get(index(task)),
            Standing::Undoing { part } if task.undo => Some(part),
            _ => None,
        }
    }

    fn part_mut(&mut self, task: &Task) -> Option<&mut Part> {
        match self.steps.get_mut(&task.step)? {
            Standing::Working { parts, .. } if !task.undo => parts.get_mut(index(task)),
            Standing::Undoing { part } if task.undo => Some(part),
            _ => None,
        }
    }

    fn tasks(&self, wanted: impl Fn(&Part) -> bool) -> Vec<Task> {
        let mut all = Vec::new();
        for (step, standing) in &self.steps {
            match standing {
                Standing::Working { parts, listed } => {
                    let numbers = parts.iter().zip(0_u32..).filter(|(part, _)| wanted(part));
                    all.extend(numbers.map(|(_, number)| Task {
                        step: step.clone(),
                        part: listed.then_some(number),
                        undo: false,
                    }));
                }
                Standing::Undoing { part } if wanted(part) => {
                    all.push(Task::undoing(step.clone()));
                }
                _ => {}
            }
        }
        all
    }

    /// When something that waits has waited long enough, if that is ever.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let until = |task: &Task| match self.part(task).map(|part| &part.at) {
            Some(At::Suspended { until }) => *until,
            _ => None,
        };
        self.suspended().iter().filter_map(until).min()
    }

    /// Somebody takes up what waited; false if nothing did.
    pub fn wake(&mut self, task: &Task) -> bool {
        match self.part_mut(task) {
            Some(part) if matches!(part.at, At::Suspended { .. }) => {
                part.at = At::Running;
                true
            }
            _ => false,
        }
    }

    /// Nobody wants it any more; false if it is over or given up already.
    pub fn cancel(&mut self) -> bool {
        let open = self.stop.is_none() && !self.status().is_over();
        if open {
            self.stop = Some(Stop::Cancelled);
        }
        open
    }

    /// Gives the whole up because of a step.
    pub fn give_up(&mut self, step: &StepName, why: String) {
        if self.stop.is_none() && !self.status().is_over() {
            self.stop = Some(Stop::Failed { step: step.clone(), why });
        }
    }

    /// Something came of a task; false if nobody was at it, and then nothing is
    /// changed.
    pub fn came(
        &mut self,
        definition: &Definition,
        values: &impl Values,
        task: &Task,
        came: Came,
        now: Timestamp,
    ) -> bool {
        let Some(step) = definition.step(&task.step) else { return false };
        let Some(part) = self.part_mut(task).filter(|part| part.at == At::Running) else {
            return false;
        };
        match came {
            Came::Done => {
                let again = step.repeat.as_ref().filter(|_| !task.undo).is_some_and(|repeat| {
                    part.round + 1 < repeat.most && !repeat.until.holds(values, task)
                });
                if again {
                    *part = Part { at: At::Queued, round: part.round + 1, attempt: 0 };
                } else {
                    part.at = At::Done;
                }
            }
            Came::Failed { again: true, .. } if part.attempt < step.retries => {
                *part = Part { at: At::Queued, round: part.round, attempt: part.attempt + 1 };
            }
            Came::Failed { why, .. } => self.failed(task, why),
            Came::Suspended => part.at = At::Suspended { until: until(definition, task, now) },
        }
        true
    }

    fn failed(&mut self, task: &Task, why: String) {
        if let Some(part) = self.part_mut(task) {
            part.at = At::Failed { why: why.clone() };
        }
        if !task.undo && self.stop.is_none() {
            self.stop = Some(Stop::Failed { step: task.step.clone(), why });
        }
    }

    /// Begins all that can begin, with at most so many things in work at once,
    /// and says what that is.
    pub fn advance(
        &mut self,
        definition: &Definition,
        values: &impl Values,
        most: usize,
        now: Timestamp,
    ) -> Vec<Task> {
        self.expire(now);
        if self.stop.is_none() {
            self.settle(definition, values);
        }
        if self.stop.is_some() {
            self.wind_up(definition);
        }
        self.start(definition, most)
    }

    /// What has waited long enough has failed.
    fn expire(&mut self, now: Timestamp) {
        for task in self.suspended() {
            let over = self.part(&task).is_some_and(
                |part| matches!(part.at, At::Suspended { until: Some(until) } if until <= now),
            );
            if over {
                self.failed(&task, "nobody answered in time".to_owned());
            }
        }
    }

    /// Steps whose parts are all done are done, and those that wait for nothing
    /// more begin or are skipped, until that changes nothing.
    fn settle(&mut self, definition: &Definition, values: &impl Values) {
        loop {
            let mut changed = false;
            for step in definition.steps() {
                let next = match self.steps.get(&step.id) {
                    Some(Standing::Working { parts, .. })
                        if parts.iter().all(|part| part.at == At::Done) =>
                    {
                        self.done += 1;
                        Standing::Done { nth: self.done - 1 }
                    }
                    Some(Standing::Waiting) => match self.begin(step, values) {
                        Some(Ok(begun)) => begun,
                        Some(Err(why)) => {
                            self.stop =
                                Some(Stop::Failed { step: step.id.clone(), why: why.clone() });
                            self.steps.insert(step.id.clone(), Standing::Failed { why });
                            return;
                        }
                        None => continue,
                    },
                    _ => continue,
                };
                self.steps.insert(step.id.clone(), next);
                changed = true;
            }
            if !changed {
                return;
            }
        }
    }

    /// What a step becomes that waits for nothing more.
    fn begin(&self, step: &Step, values: &impl Values) -> Option<Result<Standing, String>> {
        let mut skipped = !step.after.is_empty();
        for before in &step.after {
            match self.steps.get(before) {
                Some(Standing::Done { .. }) => skipped = false,
                Some(Standing::Skipped) => {}
                _ => return None,
            }
        }
        let task = Task::of(step.id.clone());
        if skipped || step.when.as_ref().is_some_and(|when| !when.holds(values, &task)) {
            return Some(Ok(Standing::Skipped));
        }
        let count = match step.each.as_ref().map(|each| values.count(&each.list, &task)) {
            None => 1,
            Some(Ok(count)) if count <= MOST_PARTS => count,
            Some(Ok(count)) => {
                return Some(Err(format!("its list has {count} parts; the most is {MOST_PARTS}")));
            }
            Some(Err(why)) => return Some(Err(why)),
        };
        let listed = step.each.is_some();
        Some(Ok(Standing::Working { parts: vec![Part::new(); count], listed }))
    }

    /// Once nothing runs any more, what had begun is over and what was done is
    /// taken back, the last first and one after the other.
    fn wind_up(&mut self, definition: &Definition) {
        if !self.running().is_empty() {
            return;
        }
        for standing in self.steps.values_mut() {
            match standing {
                Standing::Working { parts, .. } => {
                    let all_done = parts.iter().all(|part| part.at == At::Done);
                    let why = parts.iter().find_map(|part| match &part.at {
                        At::Failed { why } => Some(why.clone()),
                        _ => None,
                    });
                    *standing = match why {
                        Some(why) => Standing::Failed { why },
                        None if all_done => {
                            self.done += 1;
                            Standing::Done { nth: self.done - 1 }
                        }
                        None => Standing::Stopped,
                    };
                }
                Standing::Undoing { part } => match &part.at {
                    At::Done => *standing = Standing::Undone,
                    At::Failed { why } => *standing = Standing::NotUndone { why: why.clone() },
                    At::Queued | At::Running | At::Suspended { .. } => return,
                },
                _ => {}
            }
        }
        if let Some(next) = self.last_to_undo(definition) {
            self.steps.insert(next, Standing::Undoing { part: Part::new() });
        }
    }

    fn last_to_undo(&self, definition: &Definition) -> Option<StepName> {
        let done = definition.steps().iter().filter(|step| step.undo.is_some());
        let done = done.filter_map(|step| match self.steps.get(&step.id) {
            Some(Standing::Done { nth }) => Some((nth, &step.id)),
            _ => None,
        });
        done.max().map(|(_, id)| id.clone())
    }

    /// Begins what is queued, as far as there is room.
    fn start(&mut self, definition: &Definition, most: usize) -> Vec<Task> {
        let mut room = most.saturating_sub(self.running().len());
        let mut started = Vec::new();
        let stopped = self.stop.is_some();
        for step in definition.steps() {
            match self.steps.get_mut(&step.id) {
                Some(Standing::Working { parts, listed }) if !stopped => {
                    let running = parts.iter().filter(|part| part.at == At::Running).count();
                    let at_once = step.each.as_ref().map_or(1, |each| each.at_once as usize);
                    let mut free = at_once.saturating_sub(running).min(room);
                    for (part, number) in parts.iter_mut().zip(0_u32..) {
                        if free > 0 && part.at == At::Queued {
                            part.at = At::Running;
                            (free, room) = (free - 1, room - 1);
                            let (step, part) = (step.id.clone(), listed.then_some(number));
                            started.push(Task { step, part, undo: false });
                        }
                    }
                }
                Some(Standing::Undoing { part }) if part.at == At::Queued && room > 0 => {
                    part.at = At::Running;
                    room -= 1;
                    started.push(Task::undoing(step.id.clone()));
                }
                _ => {}
            }
        }
        started
    }

    /// Where the whole stands.
    pub fn status(&self) -> Status {
        let open = |standing: &Standing| match standing {
            Standing::Working { parts, .. } => {
                parts.iter().any(Part::is_open) || self.stop.is_none()
            }
            Standing::Undoing { .. } => true,
            Standing::Waiting => self.stop.is_none(),
            _ => false,
        };
        let is_open = self.steps.values().any(open);
        let busy = !self.tasks(|part| matches!(part.at, At::Queued | At::Running)).is_empty();
        match (&self.stop, is_open) {
            (Some(Stop::Failed { .. }), false) => Status::Failed,
            (Some(Stop::Cancelled), false) => Status::Cancelled,
            (None, false) => Status::Done,
            (_, true) if !busy && !self.suspended().is_empty() => Status::Waiting,
            (Some(_), true) => Status::Undoing,
            (None, true) => Status::Running,
        }
    }
}

fn index(task: &Task) -> usize {
    task.part.unwrap_or_default() as usize
}

/// Until when a task waits. A turn has its time while it works and waits for
/// people as long as they take.
fn until(definition: &Definition, task: &Task, now: Timestamp) -> Option<Timestamp> {
    let timeout = definition.step(&task.step)?.timeout?;
    matches!(definition.work(task)?, Work::Ask { .. } | Work::Wait { .. }).then(|| now + timeout)
}
