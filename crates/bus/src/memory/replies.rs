//! Who waits for which reply.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::id::EnvelopeId;
use tokio::sync::oneshot;

use crate::envelope::Envelope;

const SHARDS: usize = 16;

/// The low bits of an id are a counter; they need no hashing.
#[derive(Default)]
pub(crate) struct ById(u64);

impl Hasher for ById {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, bits: u128) {
        self.0 = (bits as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Shard = HashMap<EnvelopeId, oneshot::Sender<Arc<Envelope>>, BuildHasherDefault<ById>>;

/// The requests without a reply.
#[derive(Default)]
pub(crate) struct Replies([Mutex<Shard>; SHARDS]);

/// A request that waits. Dropped, it waits no longer.
pub(crate) struct Pending<'a> {
    replies: &'a Replies,
    id: EnvelopeId,
    pub(crate) reply: oneshot::Receiver<Arc<Envelope>>,
}

impl Replies {
    fn shard(&self, id: EnvelopeId) -> MutexGuard<'_, Shard> {
        let number = (id.as_u128() as usize) % SHARDS;
        self.0[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn expect(&self, id: EnvelopeId) -> Pending<'_> {
        let (tell, reply) = oneshot::channel();
        self.shard(id).insert(id, tell);
        Pending { replies: self, id, reply }
    }

    /// Gives a reply to whoever waits for it; false if nobody does.
    pub(crate) fn deliver(&self, envelope: Arc<Envelope>) -> bool {
        let Some(id) = envelope.context.parent_message else { return false };
        let waiting = self.shard(id).remove(&id);
        waiting.is_some_and(|tell| tell.send(envelope).is_ok())
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.replies.shard(self.id).remove(&self.id);
    }
}
