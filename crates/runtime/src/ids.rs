//! Ids, random and derived.

use sha2::{Digest, Sha256};

/// Returns a new id. Ids sort by the time of their creation.
pub(crate) fn fresh<T>(make: fn(u128) -> T) -> T {
    make(ostler_bus::next_id().as_u128())
}

/// Returns the id that follows from another id and a word. Repeated work gets the same ids
/// by this.
pub(crate) fn derived<T>(make: fn(u128) -> T, from: u128, word: &str) -> T {
    const TIME_AND_VERSION: u128 = 0xffff_ffff_ffff_f000_c000_0000_0000_0000;
    let hash = Sha256::new().chain_update(from.to_be_bytes()).chain_update(word).finalize();
    let bits = hash.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte));
    make((from & TIME_AND_VERSION) | (bits & !TIME_AND_VERSION))
}

/// Returns the shard of a text, the same on every node and in every version.
pub(crate) fn shard(text: &str, count: u16) -> u16 {
    // FNV-1a: a few bytes, no state.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash % u64::from(count.max(1))) as u16
}
