//! Work lists in memory.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::name::AgentName;

use super::WorkList;
use crate::agents::error::Result;
use crate::agents::page::Page;

type Lists = HashMap<AgentName, BTreeMap<EnvelopeId, Arc<Envelope>>>;

/// Work lists in memory, lost when the process ends.
#[derive(Debug, Default)]
pub struct MemoryWorkList(Mutex<Lists>);

impl MemoryWorkList {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkList for MemoryWorkList {
    fn add<'a>(
        &'a self,
        person: &'a AgentName,
        message: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut lists = self.lists();
            let list = lists.entry(person.clone()).or_default();
            list.entry(message.message.id).or_insert(message);
            Ok(())
        })
    }

    fn take<'a>(
        &'a self,
        person: &'a AgentName,
        message: EnvelopeId,
    ) -> BoxFuture<'a, Result<Option<Arc<Envelope>>>> {
        Box::pin(async move {
            let mut lists = self.lists();
            Ok(lists.get_mut(person).and_then(|list| list.remove(&message)))
        })
    }

    fn list<'a>(
        &'a self,
        person: &'a AgentName,
        page: Page<EnvelopeId>,
    ) -> BoxFuture<'a, Result<Vec<Arc<Envelope>>>> {
        Box::pin(async move {
            let from = page.after.map_or(Bound::Unbounded, Bound::Excluded);
            let lists = self.lists();
            let list = lists.get(person).into_iter();
            let rest = list.flat_map(|list| list.range((from, Bound::Unbounded)));
            Ok(rest.take(page.limit()).map(|(_, message)| Arc::clone(message)).collect())
        })
    }
}
