//! Message ids and the clock of the bus.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use ostler_domain::id::EnvelopeId;
use ostler_domain::time::Timestamp;

/// Returns the current time.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Returns a new id: a UUID v7 whose random part is a counter with a random
/// start, so that no system randomness is needed per id.
pub fn next_id() -> EnvelopeId {
    next_id_at(now())
}

/// Returns a new id with this timestamp.
pub(crate) fn next_id_at(now: Timestamp) -> EnvelopeId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    const LOW_BITS: u64 = (1 << 62) - 1;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let millis = u128::from(now.as_millis().unsigned_abs()) & ((1 << 48) - 1);
    let low = u128::from(process_number().wrapping_add(count) & LOW_BITS);
    EnvelopeId::from_u128(millis << 80 | 7 << 76 | u128::from(count & 0xfff) << 64 | 2 << 62 | low)
}

/// Returns a random number that identifies this process.
pub(crate) fn process_number() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(|| RandomState::new().hash_one(std::process::id()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::next_id;

    #[test]
    fn ids_of_many_threads_are_distinct_and_of_version_7() {
        let make = || (0..10_000).map(|_| next_id().as_u128()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(make)).collect();
        let all: Vec<u128> = threads.into_iter().flat_map(|one| one.join().unwrap()).collect();
        assert!(all.iter().all(|bits| bits >> 76 & 15 == 7 && bits >> 62 & 3 == 2));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 40_000);
    }
}
