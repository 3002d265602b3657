//! Observations: what a thread has said, as typed values.

use serde::{Deserialize, Serialize};

use super::MessageSpan;
use crate::time::UtcDay;
use crate::tool::Trust;

/// The speaker of observed messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    Agent,
    /// The result of a tool call.
    Tool,
}

impl Speaker {
    /// Returns the speaker in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Tool => "tool",
        }
    }
}

/// The kind of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationKind {
    Assertion,
    Question,
    Decision,
    Preference,
    Task,
}

impl ObservationKind {
    /// Returns the kind in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assertion => "assertion",
            Self::Question => "question",
            Self::Decision => "decision",
            Self::Preference => "preference",
            Self::Task => "task",
        }
    }
}

/// Whether a task was carried out. It is open until a message says otherwise: a plan is no
/// proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskCompletion {
    Open,
    Completed,
    Cancelled,
}

impl TaskCompletion {
    /// Returns the completion in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Something that was said in a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Its number in the thread. Later observations have higher ones.
    pub id: u64,
    pub speaker: Speaker,
    pub kind: ObservationKind,
    /// For tasks only.
    pub completion: Option<TaskCompletion>,
    pub text: String,
    /// The messages that say it.
    pub span: MessageSpan,
    /// The first day on which it holds, if one was said.
    pub valid_from: Option<UtcDay>,
    /// The last day on which it holds, if one was said.
    pub valid_until: Option<UtcDay>,
    /// The observations that it replaces when it becomes active.
    pub supersedes: Vec<u64>,
    /// The observation that replaced it.
    pub superseded_by: Option<u64>,
    /// Untrusted if the observer had read anything from outside.
    pub trust: Trust,
}

impl Observation {
    /// Returns the line that stands in the prompt.
    pub fn line(&self) -> String {
        let Self { id, speaker, kind, span, text, .. } = self;
        let mut line = format!("- #{id} {} {}", speaker.as_str(), kind.as_str());
        if let Some(completion) = self.completion {
            line.push_str(&format!(" ({})", completion.as_str()));
        }
        line.push_str(&format!(" [{}-{}", span.first, span.last));
        if let Some(day) = self.valid_from {
            line.push_str(&format!("; from {}", day.to_iso()));
        }
        if let Some(day) = self.valid_until {
            line.push_str(&format!("; until {}", day.to_iso()));
        }
        line.push_str(&format!("]: {text}\n"));
        line
    }
}

/// The observations in the prompt, oldest first, with their tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObservationLog {
    entries: Vec<(Observation, u64)>,
    tokens: u64,
}

impl ObservationLog {
    /// Returns the observations, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Observation> {
        self.entries.iter().map(|(observation, _)| observation)
    }

    /// Returns the observation with this number.
    pub fn get(&self, id: u64) -> Option<&Observation> {
        self.iter().find(|observation| observation.id == id)
    }

    /// Returns the tokens of all observations.
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns whether an untrusted observation is in the prompt.
    pub fn trust(&self) -> Trust {
        let trust = self.iter().map(|observation| observation.trust);
        trust.fold(Trust::Trusted, Trust::after_reading)
    }

    /// Returns the observations of this trust alone.
    #[must_use]
    pub fn with_trust(&self, trust: Trust) -> Self {
        let kept = self.entries.iter().filter(|(observation, _)| observation.trust == trust);
        let entries: Vec<(Observation, u64)> = kept.cloned().collect();
        let tokens = entries.iter().map(|(_, tokens)| tokens).sum();
        Self { entries, tokens }
    }

    /// Adds an observation with the tokens of its line. What it supersedes leaves the
    /// prompt, unless it is untrusted and the older one is not: a text from outside never
    /// replaces what a person said. Returns the numbers of those that left.
    pub fn add(&mut self, observation: Observation, tokens: u64) -> Vec<u64> {
        let may_replace = |old: &Observation| {
            observation.supersedes.contains(&old.id)
                && old.id < observation.id
                && old.trust >= observation.trust
        };
        let replaced: Vec<u64> =
            self.iter().filter(|old| may_replace(old)).map(|old| old.id).collect();
        self.remove(&replaced);
        self.tokens += tokens;
        self.entries.push((observation, tokens));
        replaced
    }

    /// Removes observations that were superseded.
    pub fn remove(&mut self, ids: &[u64]) {
        if ids.is_empty() {
            return;
        }
        self.entries.retain(|(observation, _)| !ids.contains(&observation.id));
        self.tokens = self.entries.iter().map(|(_, tokens)| tokens).sum();
    }

    /// Removes the oldest observations while there are more tokens than `limit`, and returns
    /// their numbers. Their messages are still found by a search.
    pub fn enforce_limit(&mut self, limit: u64) -> Vec<u64> {
        let mut left = self.tokens;
        let over = |(observation, tokens): &(Observation, u64)| {
            let is_over = left > limit;
            left -= if is_over { *tokens } else { 0 };
            is_over.then_some(observation.id)
        };
        let removed: Vec<u64> = self.entries.iter().map_while(over).collect();
        self.remove(&removed);
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::{Observation, ObservationKind, ObservationLog, Speaker, TaskCompletion};
    use crate::memory::MessageSpan;
    use crate::time::UtcDay;
    use crate::tool::Trust;

    fn observation(id: u64, supersedes: &[u64], trust: Trust) -> Observation {
        Observation {
            id,
            speaker: Speaker::User,
            kind: ObservationKind::Preference,
            completion: None,
            text: format!("likes {id}"),
            span: MessageSpan { first: 3, last: 4 },
            valid_from: None,
            valid_until: None,
            supersedes: supersedes.to_vec(),
            superseded_by: None,
            trust,
        }
    }

    fn ids(log: &ObservationLog) -> Vec<u64> {
        log.iter().map(|one| one.id).collect()
    }

    #[test]
    fn a_line_says_who_what_where_and_when() {
        let mut task = observation(7, &[], Trust::Trusted);
        assert_eq!(task.line(), "- #7 user preference [3-4]: likes 7\n");
        task.kind = ObservationKind::Task;
        task.completion = Some(TaskCompletion::Open);
        task.valid_from = UtcDay::parse_iso("2026-11-18");
        task.valid_until = UtcDay::parse_iso("2026-12-01");
        assert_eq!(
            task.line(),
            "- #7 user task (open) [3-4; from 2026-11-18; until 2026-12-01]: likes 7\n"
        );
    }

    #[test]
    fn z15_untrusted_text_never_replaces_what_a_person_said() {
        let (person, outside) = (Trust::Trusted, Trust::Untrusted);
        let table = [
            (person, person, vec![1]),
            (outside, outside, vec![1]),
            (outside, person, vec![1]),
            (person, outside, vec![]),
        ];
        for (old, new, replaced) in table {
            let mut log = ObservationLog::default();
            log.add(observation(1, &[], old), 10);
            assert_eq!(log.add(observation(2, &[1], new), 5), replaced, "{old:?} {new:?}");
            assert_eq!(log.tokens(), if replaced.is_empty() { 15 } else { 5 });
            assert_eq!(log.trust(), if replaced.is_empty() { outside } else { new });
        }
    }

    #[test]
    fn m16_the_oldest_observations_leave_a_full_prompt() {
        let mut log = ObservationLog::default();
        for id in 1..=5 {
            log.add(observation(id, &[], Trust::Trusted), 10);
        }
        assert_eq!(log.enforce_limit(50), [0; 0]);
        assert_eq!(log.enforce_limit(25), [1, 2, 3]);
        assert_eq!((ids(&log), log.tokens()), (vec![4, 5], 20));
    }
}
