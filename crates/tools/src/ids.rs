//! New ids. They sort by the time they were made, and a call that is made again
//! makes the same ones.

use ostler_domain::id::SessionId;
use ostler_engine::tool::ToolContext;
use sha2::{Digest, Sha256};

/// The bits of a UUID v7: the time, and what nobody else has. `number` tells the
/// things that one call makes apart.
pub(crate) fn fresh(context: &ToolContext, number: usize) -> u128 {
    let mut hash = Sha256::new();
    hash.update(context.org.as_u128().to_be_bytes());
    hash.update(context.agent.as_u128().to_be_bytes());
    hash.update(context.session.map_or(0, SessionId::as_u128).to_be_bytes());
    hash.update((context.pending.len() as u64).to_be_bytes());
    hash.update((number as u64).to_be_bytes());
    hash.update(context.idempotency_key.as_bytes());
    let rest = leading_bits(&hash.finalize());
    let millis = u128::from(context.now.as_millis().unsigned_abs()) & 0xffff_ffff_ffff;
    (millis << 80) | (0x7 << 76) | (0b10 << 62) | (rest & !(u128::MAX << 62)) | spread(rest)
}

/// The twelve bits between version and variant.
const fn spread(rest: u128) -> u128 {
    ((rest >> 62) & 0xfff) << 64
}

/// The first 128 bits of a hash.
pub(crate) fn leading_bits(hash: &[u8]) -> u128 {
    hash.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte))
}
