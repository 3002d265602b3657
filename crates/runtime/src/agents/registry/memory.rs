//! The registry in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ostler_bus::BoxFuture;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::selection::{AgentSkill, Availability};
use ostler_domain::time::Timestamp;

use super::{AgentPresence, AgentRecord, Placement, Registry, SkillCoverage};
use crate::agents::error::{QueueError, Result};
use crate::agents::page::Page;

/// Agent records in memory, lost when the process ends.
#[derive(Debug, Default)]
pub struct MemoryRegistry(RwLock<State>);

#[derive(Debug, Default)]
struct State {
    records: BTreeMap<AgentName, AgentRecord>,
    able: BTreeMap<AgentSkill, BTreeSet<AgentName>>,
}

impl State {
    fn register(&mut self, record: AgentRecord) -> Result<()> {
        let known = self.records.get(&record.name);
        if known.is_some_and(|known| known.placement != record.placement) {
            return Err(QueueError::PlacementConflict(record.name));
        }
        self.remove(&record.name);
        for capability in &record.capabilities {
            self.able.entry(capability.clone()).or_default().insert(record.name.clone());
        }
        self.records.insert(record.name.clone(), record);
        Ok(())
    }

    fn remove(&mut self, name: &AgentName) -> bool {
        let Some(record) = self.records.remove(name) else { return false };
        for capability in &record.capabilities {
            if let Some(names) = self.able.get_mut(capability) {
                names.remove(name);
                if names.is_empty() {
                    self.able.remove(capability);
                }
            }
        }
        true
    }

    fn renew(&mut self, present: &[AgentPresence], until: Timestamp) {
        for AgentPresence { name, load } in present {
            if let Some(record) = self.records.get_mut(name) {
                record.availability = Availability::Available;
                record.available_until = (record.placement == Placement::Pinned).then_some(until);
                record.load = *load;
            }
        }
    }

    fn able(&self, capability: &AgentSkill, now: Timestamp, limit: usize) -> Vec<AgentRecord> {
        let names = self.able.get(capability).into_iter().flatten();
        let mut able: Vec<&AgentRecord> = names.filter_map(|name| self.records.get(name)).collect();
        let place = |one: &&AgentRecord| (!one.is_available(now), one.load);
        // The names are sorted, and the sort is stable.
        able.sort_by_key(place);
        able.into_iter().take(limit).cloned().collect()
    }

    fn coverage(&self, now: Timestamp, limit: usize) -> Vec<SkillCoverage> {
        let count = |(capability, names): (&AgentSkill, &BTreeSet<AgentName>)| {
            let records = names.iter().filter_map(|name| self.records.get(name));
            let available = records.filter(|record| record.is_available(now)).count() as u64;
            SkillCoverage {
                capability: capability.clone(),
                available,
                unavailable: names.len() as u64 - available,
            }
        };
        self.able.iter().take(limit).map(count).collect()
    }
}

impl MemoryRegistry {
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry for MemoryRegistry {
    fn register(&self, record: AgentRecord) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.write().register(record) })
    }

    fn renew_presence<'a>(
        &'a self,
        present: &'a [AgentPresence],
        until: Timestamp,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.write().renew(present, until);
            Ok(())
        })
    }

    fn withdraw<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let mut state = self.write();
            let record = state.records.get_mut(name);
            Ok(record.map(|record| record.availability = Availability::Unavailable).is_some())
        })
    }

    fn remove<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { Ok(self.write().remove(name)) })
    }

    fn get<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<Option<AgentRecord>>> {
        Box::pin(async move { Ok(self.read().records.get(name).cloned()) })
    }

    fn find_by_capability<'a>(
        &'a self,
        capability: &'a AgentSkill,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<AgentRecord>>> {
        Box::pin(async move { Ok(self.read().able(capability, now, limit)) })
    }

    fn coverage(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<SkillCoverage>>> {
        Box::pin(async move { Ok(self.read().coverage(now, limit)) })
    }

    fn list(&self, page: Page<AgentName>) -> BoxFuture<'_, Result<Vec<AgentRecord>>> {
        Box::pin(async move {
            let from = page.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let state = self.read();
            let rest = state.records.range((from, Bound::Unbounded));
            Ok(rest.take(page.limit()).map(|(_, record)| record.clone()).collect())
        })
    }
}
