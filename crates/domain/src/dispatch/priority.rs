//! Which of several waiting messages is next.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The class of a message, the most pressing first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before everything else.
    Critical,
    /// Before the usual.
    High,
    /// The usual.
    #[default]
    Normal,
    /// When nothing else waits.
    Low,
}

impl Priority {
    /// All of them, the most pressing first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Normal, Self::Low];

    /// Its place in [`Self::ALL`].
    pub const fn rank(self) -> usize {
        self as usize
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

/// The place of a message among those that wait: by class, then the nearest
/// deadline, then the order of arrival. Whatever has a deadline goes before
/// what has none. The smallest is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    priority: Priority,
    /// `false` sorts first: there is a deadline.
    open_ended: bool,
    deadline: Timestamp,
    arrival: u64,
}

impl Place {
    /// The place of a message that arrived as number `arrival`.
    pub fn new(priority: Priority, deadline: Option<Timestamp>, arrival: u64) -> Self {
        let open_ended = deadline.is_none();
        Self { priority, open_ended, deadline: deadline.unwrap_or_default(), arrival }
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Priority};
    use crate::time::Timestamp;

    /// X58: critical before low; at equal priority the nearest deadline first,
    /// then the order of arrival.
    #[test]
    fn x58_the_most_pressing_is_next() {
        let place = |priority, deadline: Option<i64>, arrival| {
            Place::new(priority, deadline.map(Timestamp::from_millis), arrival)
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
    fn a_rank_is_a_place_in_the_list() {
        for (rank, priority) in Priority::ALL.into_iter().enumerate() {
            assert_eq!(priority.rank(), rank);
            let written = serde_json::to_string(&priority).unwrap();
            assert_eq!(written, format!("\"{}\"", priority.as_str()));
        }
    }
}
