//! Counts of what is open at the same time: streams and connections, by address and org.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many of something each holder has open. Cheap to clone.
#[derive(Debug)]
pub(crate) struct OpenCounts<K>(Arc<Mutex<HashMap<K, usize>>>);

impl<K> Clone for OpenCounts<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for OpenCounts<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// Something open. Dropping it makes room for another one.
#[derive(Debug)]
pub(crate) struct OpenCount<K: Hash + Eq> {
    counts: OpenCounts<K>,
    holder: K,
}

impl<K: Hash + Eq + Clone> OpenCounts<K> {
    /// Counts one more of a holder; `None` if there are `max` already.
    pub(crate) fn open(&self, holder: K, max: usize) -> Option<OpenCount<K>> {
        let mut counts = self.counts();
        let count = counts.entry(holder.clone()).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(OpenCount { counts: self.clone(), holder })
    }
}

impl<K> OpenCounts<K> {
    fn counts(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq> Drop for OpenCount<K> {
    fn drop(&mut self) {
        let mut counts = self.counts.counts();
        if let Some(count) = counts.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OpenCounts;

    #[test]
    fn a_holder_has_a_limited_number_open() {
        let counts = OpenCounts::default();
        let first = counts.open("a", 2);
        let second = counts.open("a", 2);
        assert!(first.is_some() && second.is_some());
        assert!(counts.open("a", 2).is_none());
        assert!(counts.open("b", 2).is_some());
        drop(first);
        assert!(counts.open("a", 2).is_some());
        drop(second);
        assert!(counts.counts().is_empty());
    }
}
