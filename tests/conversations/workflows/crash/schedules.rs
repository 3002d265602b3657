//! Processes that start workflows at due times are killed: each due time is started exactly
//! once, whether they die before or after the start.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ostler_domain::time::Timestamp;
use ostler_domain::workflow::schedule::{MissedStarts, OverlapPolicy, WorkflowSchedule};
use ostler_store::{ConfigWrite, ScheduledStart, StartOutcome};
use ostler_testkit::TestDatabase;
use serde_json::json;

use super::{KilledProcesses, Workers};
use crate::support::is_whole_campaign;

const MINUTE_MILLIS: i64 = 60_000;
const NAME: &str = "minutely";

/// Processes with a schedule that is due every minute.
struct Minutes {
    processes: KilledProcesses,
    /// A full minute before the first due time.
    begin: i64,
}

impl Minutes {
    async fn on(database: TestDatabase, overlap: OverlapPolicy) -> Self {
        let processes = KilledProcesses::on(database).await;
        let steps = json!([{"id": "only", "tool": "note", "with": {"say": "started"}}]);
        processes.save_workflow("test", &[], &steps).await;
        let schedule = WorkflowSchedule {
            name: NAME.into(),
            workflow: "test".into(),
            input: BTreeMap::new(),
            cron: "* * * * *".parse().unwrap(),
            time_zone: None,
            missed: MissedStarts::RunOnce,
            overlap,
            paused: false,
        };
        processes.save(ConfigWrite::Schedule(Box::new(schedule))).await;
        let stored = processes.workflows.scenario.org().workflow_schedules().await.unwrap();
        let saved = stored[0].decided_until.as_millis();
        Self { processes, begin: saved - saved.rem_euclid(MINUTE_MILLIS) }
    }

    /// Returns a due time; the first is 1.
    fn due(&self, number: usize) -> Timestamp {
        let minutes = i64::try_from(number).unwrap();
        Timestamp::from_millis(self.begin + minutes * MINUTE_MILLIS)
    }

    /// Returns what happened at the due times, oldest first.
    async fn starts(&self) -> Vec<ScheduledStart> {
        let org = self.processes.workflows.scenario.org();
        let mut starts = org.workflow_starts(NAME, 1000).await.unwrap();
        starts.reverse();
        starts
    }

    /// Checks that each of the first due times was started once or is counted as missed, and
    /// that there is no other workflow.
    async fn check(&self, due_times: usize) {
        let starts = self.starts().await;
        let missed: u32 = starts.iter().map(|start| start.missed).sum();
        assert_eq!(starts.len() + missed as usize, due_times, "{starts:?}");
        assert!(starts.iter().all(|start| start.outcome == StartOutcome::Started), "{starts:?}");
        let started: BTreeSet<_> = starts.iter().filter_map(|start| start.workflow).collect();
        let workflows =
            self.processes.workflows.scenario.org().workflows(None, 1000).await.unwrap();
        assert_eq!(started.len(), starts.len(), "{starts:?}");
        assert_eq!(workflows.iter().map(|one| one.id).collect::<BTreeSet<_>>(), started);
    }
}

/// O30: two processes find a due time; one dies before it is started, the other after. Another
/// process starts what is not started, and nothing a second time.
#[tokio::test(flavor = "multi_thread")]
async fn o30_a_due_time_is_started_once_if_its_scheduler_dies_before_or_after() {
    for database in TestDatabase::both().await {
        let minutes = Minutes::on(database, OverlapPolicy::Allow).await;
        let processes = &minutes.processes;

        let mut early = processes.process("before_schedule_advance:1");
        processes.set_clock(minutes.due(1));
        processes
            .wait_until("a death before", async || early.0.try_wait().unwrap().is_some())
            .await;
        assert!(minutes.starts().await.is_empty(), "it died before it started anything");

        let mut late = processes.process("after_schedule_advance:1");
        processes.wait_until("a death after", async || late.0.try_wait().unwrap().is_some()).await;
        minutes.check(1).await;

        let mut workers = Workers::start(processes, "before_schedule_advance:1");
        processes.set_clock(minutes.due(2));
        let is_started = async || {
            workers.replace_dead();
            minutes.starts().await.len() == 2
        };
        processes.wait_until("the second due time", is_started).await;
        let is_done = async || processes.count("note started") == 2;
        processes.wait_until("both workflows", is_done).await;
        assert!(workers.deaths >= 1);
        minutes.check(2).await;
        let starts = minutes.starts().await;
        assert_eq!(
            starts.iter().map(|one| one.due_at).collect::<Vec<_>>(),
            [minutes.due(1), minutes.due(2)]
        );
    }
}

/// O30: while the clock runs, processes are killed again and again; each due time is started
/// once, or counted as missed by the start after it.
#[tokio::test(flavor = "multi_thread")]
async fn o30_due_times_are_started_once_while_schedulers_are_killed() {
    for database in TestDatabase::both().await {
        let minutes = Minutes::on(database, OverlapPolicy::Allow).await;
        kill_while_the_clock_runs(&minutes, due_times()).await;
    }
}

/// O30: the same where a start waits for the workflow before it.
#[tokio::test(flavor = "multi_thread")]
async fn o30_queued_starts_are_made_once_while_schedulers_are_killed() {
    let minutes = Minutes::on(TestDatabase::sqlite_file(), OverlapPolicy::Queue).await;
    kill_while_the_clock_runs(&minutes, due_times()).await;
}

fn due_times() -> usize {
    if is_whole_campaign() { 60 } else { 4 }
}

async fn kill_while_the_clock_runs(minutes: &Minutes, due_times: usize) {
    let processes = &minutes.processes;
    let faults = ["before_schedule_advance:1", "after_schedule_advance:1", "before_step_commit:2"];
    for number in 1..=due_times {
        let fault = faults[number % faults.len()];
        let workers = Workers::start(processes, fault);
        processes.set_clock(minutes.due(number));
        // They die of their fault or are killed, at another time each.
        let millis = 200 + 97 * u64::try_from(number % 7).unwrap();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        drop(workers);
    }
    let mut last = Workers::start(processes, "");
    let began = Instant::now();
    let all_done = async || {
        last.replace_dead();
        // A start that waits is looked at again after some time; the next minute is not reached.
        let passed = began.elapsed().min(Duration::from_secs(50));
        processes.set_clock(minutes.due(due_times) + passed);
        let starts = minutes.starts().await;
        let last_due = starts.last().is_some_and(|start| start.due_at == minutes.due(due_times));
        let open = processes.workflows.scenario.org().open_workflows(100).await.unwrap();
        let queued = starts.iter().any(|start| start.outcome == StartOutcome::Queued);
        last_due && open.is_empty() && !queued
    };
    processes.wait_until("all workflows", all_done).await;
    minutes.check(due_times).await;
}
