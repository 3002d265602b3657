//! Workers made from a template: when to reuse one, make one, archive one.

use std::time::Duration;

use crate::id::AgentId;
use crate::time::Timestamp;

/// How many workers a template may have and how long they live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPolicy {
    /// The most at one time.
    pub max: usize,
    /// Idle time after which a worker may take another session.
    pub reuse_after: Duration,
    /// Idle time after which a worker is archived.
    pub archive_after: Duration,
    /// How many are kept however long they idle.
    pub keep: usize,
}

impl Default for WorkerPolicy {
    fn default() -> Self {
        Self {
            max: 10,
            reuse_after: Duration::from_secs(30),
            archive_after: Duration::from_secs(60 * 60),
            keep: 1,
        }
    }
}

/// A worker and what it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker {
    /// The worker's agent.
    pub id: AgentId,
    /// Since when it has had nothing to do; none while it works.
    pub idle_since: Option<Timestamp>,
}

/// Who takes a new session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assignment {
    /// This idle worker.
    Reuse(AgentId),
    /// A new worker, to be made from the template.
    Spawn,
    /// Nobody: all are busy and there may be no more.
    Full,
}

/// Who takes a new session now: the worker idle the longest, else a new one.
pub fn assign(policy: WorkerPolicy, workers: &[Worker], now: Timestamp) -> Assignment {
    let rested = workers
        .iter()
        .filter_map(|worker| Some((worker.idle_since?, worker.id)))
        .filter(|(since, _)| now.since(*since) > policy.reuse_after)
        .min();
    match rested {
        Some((_, id)) => Assignment::Reuse(id),
        None if workers.len() < policy.max => Assignment::Spawn,
        None => Assignment::Full,
    }
}

/// The workers to archive now, the longest idle first; some always stay.
pub fn archive(policy: WorkerPolicy, workers: &[Worker], now: Timestamp) -> Vec<AgentId> {
    let mut stale: Vec<_> = workers
        .iter()
        .filter_map(|worker| Some((worker.idle_since?, worker.id)))
        .filter(|(since, _)| now.since(*since) >= policy.archive_after)
        .collect();
    stale.sort_unstable();
    stale.truncate(workers.len().saturating_sub(policy.keep));
    stale.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::{Assignment, Worker, WorkerPolicy, archive, assign};
    use crate::id::AgentId;
    use crate::time::Timestamp;
    use std::time::Duration;

    fn workers(idle_secs: &[Option<u64>], now: Timestamp) -> Vec<Worker> {
        let since = |secs: u64| Timestamp::from_millis(now.as_millis() - secs as i64 * 1000);
        let each = idle_secs.iter().enumerate();
        each.map(|(n, idle)| Worker {
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
        check(&[], Assignment::Spawn);
        check(&[None, None], Assignment::Spawn);
        check(&[None, Some(30)], Assignment::Spawn);
        check(&[None, Some(31)], Assignment::Reuse(AgentId::from_u128(1)));
        check(&[Some(40), Some(50), None], Assignment::Reuse(AgentId::from_u128(1)));
        check(&[None; 10], Assignment::Full);
        check(&[None; 9], Assignment::Spawn);
    }

    /// H05: archived after 60 minutes idle, at least one kept.
    #[test]
    fn h05_idle_workers_are_archived_but_one() {
        let now = Timestamp::from_millis(0) + Duration::from_secs(100_000);
        let check = |idle: &[Option<u64>], expected: &[u128]| {
            let ids: Vec<u128> = archive(WorkerPolicy::default(), &workers(idle, now), now)
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
