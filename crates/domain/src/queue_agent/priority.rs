//! The order in which waiting messages are handled.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Priority of a message, the most urgent first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Critical,
    High,
    #[default]
    Normal,
    Low,
}

impl Priority {
    /// All priorities, the most urgent first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Normal, Self::Low];

    /// Returns the index in [`Self::ALL`].
    pub const fn rank(self) -> usize {
        self as usize
    }

    /// Returns the name used in JSON and queue names.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

/// Sort key of a waiting message: by priority, then the nearest deadline, then the
/// order of arrival. A message with a deadline goes before one without. The smallest
/// is handled next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePosition {
    priority: Priority,
    /// `false` sorts first: there is a deadline.
    open_ended: bool,
    deadline: Timestamp,
    arrival: u64,
}

impl QueuePosition {
    /// Creates the position of the message that arrived as number `arrival`.
    pub fn new(priority: Priority, deadline: Option<Timestamp>, arrival: u64) -> Self {
        let open_ended = deadline.is_none();
        Self { priority, open_ended, deadline: deadline.unwrap_or_default(), arrival }
    }
}

#[cfg(test)]
mod tests {
    use super::{Priority, QueuePosition};
    use crate::time::Timestamp;

    /// X58: critical before low; at equal priority the nearest deadline first,
    /// then the order of arrival.
    #[test]
    fn x58_the_most_urgent_message_is_next() {
        let place = |priority, deadline: Option<i64>, arrival| {
            QueuePosition::new(priority, deadline.map(Timestamp::from_millis), arrival)
        };
        let expected = [
            place(Priority::Critical, None, 9),
            place(Priority::High, None, 8),
            place(Priority::Normal, Some(5), 7),
            place(Priority::Normal, Some(6), 2),
            place(Priority::Normal, Some(6), 6),
            place(Priority::Normal, None, 1),
            place(Priority::Normal, None, 3),
            place(Priority::Low, Some(1), 0),
        ];
        let mut shuffled = expected;
        shuffled.reverse();
        shuffled.swap(1, 5);
        shuffled.sort_unstable();
        assert_eq!(shuffled, expected);
    }

    #[test]
    fn a_rank_is_the_index_in_the_list_of_priorities() {
        for (rank, priority) in Priority::ALL.into_iter().enumerate() {
            assert_eq!(priority.rank(), rank);
            let written = serde_json::to_string(&priority).unwrap();
            assert_eq!(written, format!("\"{}\"", priority.as_str()));
        }
    }
}
