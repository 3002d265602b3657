//! What waits for people: the messages to human agents that are not answered.

mod memory;

use std::sync::Arc;

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::EnvelopeId;

use super::error::Result;
use super::page::Page;

pub use memory::MemoryWorkList;

/// The work lists of people. All operations may be called from anywhere at the
/// same time, from several processes too, and each is done whole or not at all.
pub trait WorkList: Send + Sync + 'static {
    /// Puts a message on a person's list; one that is on it stays where it is.
    fn add<'a>(
        &'a self,
        person: &'a AgentName,
        message: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Takes a message off a person's list. Of several who try, one gets it.
    fn take<'a>(
        &'a self,
        person: &'a AgentName,
        message: EnvelopeId,
    ) -> BoxFuture<'a, Result<Option<Arc<Envelope>>>>;

    /// What is on a person's list, by message id, which is the oldest first.
    fn list<'a>(
        &'a self,
        person: &'a AgentName,
        page: Page<EnvelopeId>,
    ) -> BoxFuture<'a, Result<Vec<Arc<Envelope>>>>;
}
