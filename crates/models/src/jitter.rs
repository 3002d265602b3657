//! Jitter for retry delays, replaceable in tests.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// A source of numbers from 0 to 1000.
#[derive(Clone)]
pub struct Jitter(Arc<dyn Fn() -> u32 + Send + Sync>);

impl Jitter {
    /// Creates a source of varying numbers. They are spread evenly but not
    /// cryptographically random.
    pub fn random() -> Self {
        Self(Arc::new(|| u32::try_from(RandomState::new().hash_one(()) % 1001).unwrap_or(500)))
    }

    /// Creates a source that always returns this number.
    pub fn fixed(number: u32) -> Self {
        Self(Arc::new(move || number))
    }

    /// Returns the next number.
    pub fn next(&self) -> u32 {
        (self.0)().min(1000)
    }
}

impl fmt::Debug for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Jitter")
    }
}

#[cfg(test)]
mod tests {
    use super::Jitter;

    #[test]
    fn jitter_is_spread_and_can_be_fixed() {
        let numbers: std::collections::BTreeSet<u32> =
            (0..100).map(|_| Jitter::random().next()).collect();
        assert!(numbers.len() > 10 && numbers.iter().all(|number| *number <= 1000));
        assert_eq!(Jitter::fixed(2000).next(), 1000);
    }
}
