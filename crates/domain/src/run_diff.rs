//! Replays: what changes when a stored turn is run again with another model or policy.
//!
//! The calls of both turns are aligned in order. A call of the replay is *the same* as a
//! recorded one if tool and arguments are equal; from the first one that is not, the replay
//! has left the recorded path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::money::Credits;

/// The most calls of a turn that are compared; of more, only the first are.
const MAX_COMPARED: usize = 500;

/// A tool call of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathCall {
    pub tool: String,
    pub arguments: Value,
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// The reason of the decision, in words.
    pub why: String,
    /// How the call ended; `None` if it did not.
    pub outcome: Option<String>,
}

impl PathCall {
    fn is_same_call(&self, other: &Self) -> bool {
        self.tool == other.tool && self.arguments == other.arguments
    }
}

/// What a turn did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TurnPath {
    pub calls: Vec<PathCall>,
    /// What the agent said at the end.
    pub words: String,
    /// How the turn ended.
    pub end: String,
    /// What the turn costs, with its tools.
    pub credits: Credits,
}

/// A difference between the calls of two turns, in the order of the calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum CallChange {
    /// The same call with the same decision.
    Same { call: PathCall },
    /// The same call with another decision.
    Decision { recorded: PathCall, replayed: PathCall },
    /// The replay does not make this call.
    Missing { call: PathCall },
    /// Only the replay makes this call.
    New { call: PathCall },
}

/// What changes when a turn is run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnDiff {
    pub calls: Vec<CallChange>,
    pub words_change: bool,
    pub end_changes: bool,
    /// After how many calls the replay left the recorded path; `None` if it never did.
    pub left_after: Option<usize>,
}

impl TurnDiff {
    /// Compares a recorded turn with its replay.
    pub fn of(recorded: &TurnPath, replayed: &TurnPath) -> Self {
        let cut = |calls: &[PathCall]| calls[..calls.len().min(MAX_COMPARED)].to_vec();
        let calls = align(&cut(&recorded.calls), &cut(&replayed.calls));
        let kept = calls.iter().take_while(|change| matches!(change, CallChange::Same { .. }));
        let kept = kept.count();
        Self {
            left_after: (kept < calls.len()).then_some(kept),
            words_change: recorded.words.trim() != replayed.words.trim(),
            end_changes: recorded.end != replayed.end,
            calls,
        }
    }

    /// Returns whether nothing changes besides the cost.
    pub fn is_same(&self) -> bool {
        self.left_after.is_none() && !self.words_change && !self.end_changes
    }
}

/// Aligns calls by the longest sequence that both have in common.
fn align(recorded: &[PathCall], replayed: &[PathCall]) -> Vec<CallChange> {
    let (rows, columns) = (recorded.len(), replayed.len());
    // The length of the longest common sequence of what follows each pair.
    let mut longest = vec![vec![0_usize; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            longest[row][column] = match recorded[row].is_same_call(&replayed[column]) {
                true => longest[row + 1][column + 1] + 1,
                false => longest[row + 1][column].max(longest[row][column + 1]),
            };
        }
    }
    let (mut row, mut column, mut changes) = (0, 0, Vec::new());
    while row < rows && column < columns {
        let (old, new) = (&recorded[row], &replayed[column]);
        if old.is_same_call(new) {
            changes.push(match old.decision == new.decision {
                true => CallChange::Same { call: new.clone() },
                false => CallChange::Decision { recorded: old.clone(), replayed: new.clone() },
            });
            (row, column) = (row + 1, column + 1);
        } else if longest[row + 1][column] >= longest[row][column + 1] {
            changes.push(CallChange::Missing { call: old.clone() });
            row += 1;
        } else {
            changes.push(CallChange::New { call: new.clone() });
            column += 1;
        }
    }
    changes.extend(recorded[row..].iter().map(|call| CallChange::Missing { call: call.clone() }));
    changes.extend(replayed[column..].iter().map(|call| CallChange::New { call: call.clone() }));
    changes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CallChange, PathCall, TurnDiff, TurnPath};

    /// A call written as `tool:argument:decision`.
    fn call(text: &str) -> PathCall {
        let mut parts = text.split(':').map(str::to_owned);
        let mut part = || parts.next().unwrap_or_default();
        PathCall {
            tool: part(),
            arguments: json!(part()),
            decision: part(),
            why: String::new(),
            outcome: None,
        }
    }

    fn path(calls: &str, words: &str) -> TurnPath {
        TurnPath {
            calls: calls.split_whitespace().map(call).collect(),
            words: words.to_owned(),
            ..TurnPath::default()
        }
    }

    /// The changes as signs: `=` same, `!` another decision, `-` missing, `+` new.
    fn signs(diff: &TurnDiff) -> String {
        let sign = |change: &CallChange| match change {
            CallChange::Same { .. } => '=',
            CallChange::Decision { .. } => '!',
            CallChange::Missing { .. } => '-',
            CallChange::New { .. } => '+',
        };
        diff.calls.iter().map(sign).collect()
    }

    #[test]
    fn z07_the_calls_of_a_replay_are_aligned_with_the_recorded_ones() {
        for (recorded, replayed, expected, left_after) in [
            ("", "", "", None),
            ("a:1:allow b:2:allow", "a:1:allow b:2:allow", "==", None),
            ("a:1:allow b:2:allow", "a:1:allow b:2:deny", "=!", Some(1)),
            ("a:1:allow b:2:allow", "b:2:allow", "-=", Some(0)),
            ("b:2:allow", "a:1:allow b:2:allow", "+=", Some(0)),
            ("a:1:allow c:1:allow", "a:2:allow c:1:allow", "-+=", Some(0)),
            ("a:1:allow", "a:1:allow d:1:ask", "=+", Some(1)),
        ] {
            let diff = TurnDiff::of(&path(recorded, "Hi"), &path(replayed, " Hi "));
            assert_eq!(signs(&diff), expected, "{recorded} | {replayed}");
            assert_eq!(diff.left_after, left_after, "{recorded} | {replayed}");
            assert_eq!(diff.is_same(), left_after.is_none(), "{recorded} | {replayed}");
        }
        let words = TurnDiff::of(&path("", "Yes"), &path("", "No"));
        assert!(words.words_change && !words.is_same());
    }
}
