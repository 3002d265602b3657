//! New ids. They sort by the time they were made.

use sha2::{Digest, Sha256};

/// A new id.
pub(crate) fn fresh<T>(make: fn(u128) -> T) -> T {
    make(ostler_bus::next_id().as_u128())
}

/// The id that follows from another and a word: the same whenever it is asked
/// for, so that work that is done again names the same things.
pub(crate) fn derived<T>(make: fn(u128) -> T, from: u128, word: &str) -> T {
    const TIME_AND_VERSION: u128 = 0xffff_ffff_ffff_f000_c000_0000_0000_0000;
    let hash = Sha256::new().chain_update(from.to_be_bytes()).chain_update(word).finalize();
    let bits = hash.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte));
    make((from & TIME_AND_VERSION) | (bits & !TIME_AND_VERSION))
}

/// Which of so many shards a text belongs to: the same on every node and in
/// every version.
pub(crate) fn shard(text: &str, of: u16) -> u16 {
    // FNV-1a: a few bytes, no state.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash % u64::from(of.max(1))) as u16
}
