//! Workers created from a template: when to reuse, create and archive them.

use std::time::Duration;

use crate::id::AgentId;
use crate::time::Timestamp;

/// How many workers a template may have, and how long they live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPolicy {
    pub max_workers: usize,
    /// Idle time after which a worker can take another session.
    pub reuse_after: Duration,
    /// Idle time after which a worker is archived.
    pub archive_after: Duration,
    /// Workers that are never archived, however long they are idle.
    pub min_workers: usize,
}

impl Default for WorkerPolicy {
    fn default() -> Self {
        Self {
            max_workers: 10,
            reuse_after: Duration::from_secs(30),
            archive_after: Duration::from_secs(60 * 60),
            min_workers: 1,
        }
    }
}

/// A worker and since when it is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerAgent {
    pub id: AgentId,
    /// `None` while it works.
    pub idle_since: Option<Timestamp>,
}

/// The worker for a new session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerAssignment {
    Reuse(AgentId),
    /// A new worker, created from the template.
    Spawn,
    /// None: all are busy and the limit is reached.
    Full,
}

/// Assigns a new session to the worker that has been idle longest, or to a new
/// worker.
pub fn assign(policy: WorkerPolicy, workers: &[WorkerAgent], now: Timestamp) -> WorkerAssignment {
    let longest_idle = workers
        .iter()
        .filter_map(|worker| Some((worker.idle_since?, worker.id)))
        .filter(|(since, _)| now.since(*since) > policy.reuse_after)
        .min();
    match longest_idle {
        Some((_, id)) => WorkerAssignment::Reuse(id),
        None if workers.len() < policy.max_workers => WorkerAssignment::Spawn,
        None => WorkerAssignment::Full,
    }
}

/// Returns the workers to archive now, the longest idle first. Keeps at least
/// `min_workers`.
pub fn workers_to_archive(
    policy: WorkerPolicy,
    workers: &[WorkerAgent],
    now: Timestamp,
) -> Vec<AgentId> {
    let mut idle: Vec<_> = workers
        .iter()
        .filter_map(|worker| Some((worker.idle_since?, worker.id)))
        .filter(|(since, _)| now.since(*since) >= policy.archive_after)
        .collect();
    idle.sort_unstable();
    idle.truncate(workers.len().saturating_sub(policy.min_workers));
    idle.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::{WorkerAgent, WorkerAssignment, WorkerPolicy, assign, workers_to_archive};
    use crate::id::AgentId;
    use crate::time::Timestamp;
    use std::time::Duration;

    fn workers(idle_secs: &[Option<u64>], now: Timestamp) -> Vec<WorkerAgent> {
        let since = |secs: u64| Timestamp::from_millis(now.as_millis() - secs as i64 * 1000);
        let each = idle_secs.iter().enumerate();
        each.map(|(n, idle)| WorkerAgent {
            id: AgentId::from_u128(n as u128),
            idle_since: idle.map(since),
        })
        .collect()
    }

    /// H05: at most ten, reused after 30 s idle.
    #[test]
    fn h05_sessions_get_an_idle_worker_or_a_new_one_up_to_ten() {
        let now = Timestamp::from_millis(0) + Duration::from_secs(100_000);
        let check = |idle: &[Option<u64>], expected| {
            assert_eq!(
                assign(WorkerPolicy::default(), &workers(idle, now), now),
                expected,
                "{idle:?}"
            );
        };
        check(&[], WorkerAssignment::Spawn);
        check(&[None, None], WorkerAssignment::Spawn);
        check(&[None, Some(30)], WorkerAssignment::Spawn);
        check(&[None, Some(31)], WorkerAssignment::Reuse(AgentId::from_u128(1)));
        check(&[Some(40), Some(50), None], WorkerAssignment::Reuse(AgentId::from_u128(1)));
        check(&[None; 10], WorkerAssignment::Full);
        check(&[None; 9], WorkerAssignment::Spawn);
    }

    /// H05: archived after 60 minutes idle, at least one kept.
    #[test]
    fn h05_idle_workers_are_archived_except_one() {
        let now = Timestamp::from_millis(0) + Duration::from_secs(100_000);
        let check = |idle: &[Option<u64>], expected: &[u128]| {
            let ids: Vec<u128> =
                workers_to_archive(WorkerPolicy::default(), &workers(idle, now), now)
                    .into_iter()
                    .map(AgentId::as_u128)
                    .collect();
            assert_eq!(ids, expected, "{idle:?}");
        };
        check(&[Some(3600), None], &[0]);
        check(&[Some(3599), None], &[]);
        check(&[Some(3600)], &[]);
        check(&[Some(4000), Some(5000), Some(6000)], &[2, 1]);
    }
}
