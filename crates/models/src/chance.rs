//! The chance that varies waits, handed in so that tests can fix it.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// A source of numbers from 0 to 1000.
#[derive(Clone)]
pub struct Chance(Arc<dyn Fn() -> u32 + Send + Sync>);

impl Chance {
    /// Another number each time. It need not be hard to guess, only spread.
    pub fn random() -> Self {
        Self(Arc::new(|| u32::try_from(RandomState::new().hash_one(()) % 1001).unwrap_or(500)))
    }

    /// Always this number.
    pub fn fixed(number: u32) -> Self {
        Self(Arc::new(move || number))
    }

    /// The next number.
    pub fn next(&self) -> u32 {
        (self.0)().min(1000)
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chance")
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn chance_is_spread_and_can_be_fixed() {
        let numbers: std::collections::BTreeSet<u32> =
            (0..100).map(|_| Chance::random().next()).collect();
        assert!(numbers.len() > 10 && numbers.iter().all(|number| *number <= 1000));
        assert_eq!(Chance::fixed(2000).next(), 1000);
    }
}
