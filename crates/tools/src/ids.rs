//! Ids of new records. They sort by creation time, and a repeated call derives the
//! same ids.

use ostler_domain::id::SessionId;
use ostler_engine::tool::ToolContext;
use sha2::{Digest, Sha256};

/// Derives the bits of a UUID v7 from the time and a hash of the call. `index`
/// distinguishes the records that one call creates.
pub(crate) fn derive_uuid(context: &ToolContext, index: usize) -> u128 {
    let mut hash = Sha256::new();
    hash.update(context.org.as_u128().to_be_bytes());
    hash.update(context.agent.as_u128().to_be_bytes());
    hash.update(context.session.map_or(0, SessionId::as_u128).to_be_bytes());
    hash.update((context.pending.len() as u64).to_be_bytes());
    hash.update((index as u64).to_be_bytes());
    hash.update(context.idempotency_key.as_bytes());
    let random = first_128_bits(&hash.finalize());
    let millis = u128::from(context.now.as_millis().unsigned_abs()) & 0xffff_ffff_ffff;
    (millis << 80) | (0x7 << 76) | (0b10 << 62) | (random & !(u128::MAX << 62)) | rand_a(random)
}

/// Returns the twelve bits between version and variant (`rand_a` in RFC 9562).
const fn rand_a(random: u128) -> u128 {
    ((random >> 62) & 0xfff) << 64
}

/// Returns the first 128 bits of a hash.
pub(crate) fn first_128_bits(hash: &[u8]) -> u128 {
    hash.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte))
}
