//! Work lists of humans: messages to human agents that are not answered.

mod memory;

use std::sync::Arc;

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::name::AgentName;

use super::error::Result;
use super::page::Page;

pub use memory::MemoryWorkList;

/// The work lists of humans. All methods may be called concurrently, also from
/// several processes, and each is atomic.
pub trait WorkList: Send + Sync + 'static {
    /// Adds a message to a list. A message already on it keeps its position.
    fn add<'a>(
        &'a self,
        person: &'a AgentName,
        message: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Removes and returns a message. Of several concurrent callers one gets
    /// it.
    fn take<'a>(
        &'a self,
        person: &'a AgentName,
        message: EnvelopeId,
    ) -> BoxFuture<'a, Result<Option<Arc<Envelope>>>>;

    /// Returns the messages on a list ordered by id, which is oldest first.
    fn list<'a>(
        &'a self,
        person: &'a AgentName,
        page: Page<EnvelopeId>,
    ) -> BoxFuture<'a, Result<Vec<Arc<Envelope>>>>;
}
