//! Time and ids.

use std::time::SystemTime;

use ostler_domain::time::Timestamp;

/// Returns the current time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Returns a new id: the time, so that ids sort by it, and random bits.
pub(crate) fn fresh_id<T>(make: fn(u128) -> T) -> T {
    let mut random = [0; 16];
    // Without random bits, time and address still tell ids apart within a process.
    if getrandom::fill(&mut random).is_err() {
        let address = std::ptr::from_ref(&random) as usize as u128;
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        random = (address << 64 | nanos.as_nanos()).to_be_bytes();
    }
    let millis = u128::from(now().as_millis().unsigned_abs());
    make(millis << 80 | u128::from_be_bytes(random) >> 48)
}
