//! Ids, random and derived.

use sha2::{Digest, Sha256};

/// Returns a new id. Ids sort by the time of their creation.
pub(crate) fn fresh<T>(make: fn(u128) -> T) -> T {
    make(ostler_bus::next_id().as_u128())
}

/// Returns the id that follows from another id and a word. Repeated work gets the same ids
/// by this. Ids derived with one word sort like those that they are derived from: time and
/// count are kept.
pub(crate) fn derived<T>(make: fn(u128) -> T, from: u128, word: &str) -> T {
    const TIME_AND_COUNT: u128 = 0xffff_ffff_ffff_ffff_c000_0000_0000_0000;
    let hash = Sha256::new().chain_update(from.to_be_bytes()).chain_update(word).finalize();
    let bits = hash.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte));
    make((from & TIME_AND_COUNT) | (bits & !TIME_AND_COUNT))
}

/// Returns the shard of a text, the same on every node and in every version.
pub(crate) fn shard(text: &str, count: u16) -> u16 {
    // FNV-1a: a few bytes, no state.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash % u64::from(count.max(1))) as u16
}

#[cfg(test)]
mod tests {
    use super::{derived, fresh};

    #[test]
    fn derived_ids_sort_like_their_origins() {
        let origins: Vec<u128> = (0..100).map(|_| fresh(std::convert::identity)).collect();
        let ids: Vec<u128> =
            origins.iter().map(|id| derived(std::convert::identity, *id, "run")).collect();
        // The count wraps once in 4,096 ids.
        let rises = ids.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!(rises >= 98, "{rises}");
    }
}
