//! Kills in the middle of random operations: another harness takes the threads over, and
//! nothing is lost or done twice.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_harness::{Harness, Store, open_storage};

use crate::races::{Facts, Log, Random, answer_all, build, check, number_of, operate, settle};
use crate::support::take_over;

/// How often harnesses and processes are killed, unless `OSTLER_RACES` and `OSTLER_KILLS` say
/// otherwise.
const HARNESS_KILLS: u64 = 45;
const PROCESS_KILLS: u64 = 9;
/// How often the harness of a run is killed.
const KILLS: u64 = 3;
/// How many runs there are at the same time: they mostly wait for leases to end.
const AT_ONCE: u64 = 8;
/// How many runs have a database together, so that it stays small.
const RUNS_OF_A_DATABASE: u64 = 25;
const DATABASE: &str = "OSTLER_KILLS_DATABASE";
const SEED: &str = "OSTLER_KILLS_SEED";
const LIFE: &str = "OSTLER_KILLS_LIFE";

async fn store(database: &Path) -> Store {
    open_storage(&format!("sqlite:{}", database.display())).await.unwrap()
}

/// Opens the threads of a run, as soon as the process before has lost them.
async fn open(database: &Path, seed: u64, log: &Log) -> (Store, Harness) {
    let store = store(database).await;
    let harness = build(&store, &format!("seed {seed}"));
    tokio::spawn(answer_all(harness.clone(), harness.subscribe(), log.clone(), seed));
    harness.init().await.unwrap();
    take_over(&harness).await;
    (store, harness)
}

/// One life of a harness: random operations without end.
async fn live(database: &Path, seed: u64, life: u64, log: &Log) {
    let (_, harness) = open(database, seed, log).await;
    let mut random = Random::new(seed * KILLS + life);
    for round in 0.. {
        operate(&harness, &mut random, 1000 * life + 8 * round, log).await;
    }
}

/// The last life: continues everything, and checks what all of them did.
async fn conclude(database: &Path, seed: u64, lines: &Mutex<Vec<String>>, log: &Log) {
    let (store, harness) = open(database, seed, log).await;
    // Other threads may still belong to a process that was killed.
    tokio::time::sleep(Duration::from_millis(60)).await;
    settle(&harness).await;
    let lines = lines.lock().unwrap().join("\n");
    check(&store, &harness, &Facts::read(lines.lines()), &format!("seed {seed}")).await;
    harness.close().await.unwrap();
}

/// Runs something on a runtime of its own and drops all of its tasks, wherever they are,
/// when the time is over. Returns whether it was finished before.
fn run_for(time: Duration, work: impl Future<Output = ()>) -> bool {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let finished = runtime.block_on(async { tokio::time::timeout(time, work).await.is_ok() });
    runtime.shutdown_background();
    finished
}

fn recorder() -> (Arc<Mutex<Vec<String>>>, Log) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let into = lines.clone();
    (lines, Arc::new(move |line| into.lock().unwrap().push(line)))
}

/// Z01, M30-M34: harnesses are dropped in the middle of operations, and others take their
/// threads over when the lease is over: one end for each turn, no follow-up lost or out of
/// order, no question answered twice.
#[test]
fn z01_m30_kills_during_operations() {
    for_each_run("OSTLER_RACES", HARNESS_KILLS, |database, seed| {
        let (lines, log) = recorder();
        let mut random = Random::new(seed);
        for life in 0..KILLS {
            let time = Duration::from_millis(60 + random.below(60));
            assert!(!run_for(time, live(database, seed, life, &log)));
        }
        let last = conclude(database, seed, &lines, &log);
        assert!(run_for(Duration::from_secs(60), last), "seed {seed} hangs");
    });
}

/// Calls `run` with each seed and a database, several at the same time.
fn for_each_run(variable: &str, kills: u64, run: impl Fn(&Path, u64) + Sync) {
    let seeds = 1..=number_of(variable, kills) / KILLS;
    std::thread::scope(|scope| {
        for worker in 0..AT_ONCE {
            let (seeds, run) = (seeds.clone(), &run);
            scope.spawn(move || {
                let own: Vec<u64> = seeds.filter(|seed| seed % AT_ONCE == worker).collect();
                for some in own.chunks(RUNS_OF_A_DATABASE as usize) {
                    let folder = tempfile::tempdir().unwrap();
                    let database = folder.path().join("threads.db");
                    some.iter().for_each(|seed| run(&database, *seed));
                }
            });
        }
    });
}

/// The process that is killed. Does nothing when it is run as a test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process() {
    let Ok(database) = std::env::var(DATABASE) else { return };
    let number = |name| std::env::var(name).unwrap().parse().unwrap();
    let log: Log = Arc::new(|line| println!("\nlog {line}"));
    live(Path::new(&database), number(SEED), number(LIFE), &log).await;
}

/// Starts a process and kills it after some time. Returns what it has logged.
fn kill_after(time: Duration, database: &Path, seed: u64, life: u64) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child_process", "--nocapture"])
        .env(DATABASE, database)
        .env(SEED, seed.to_string())
        .env(LIFE, life.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.filter_map(|line| line.strip_prefix("log ").map(str::to_owned)).collect()
}

/// The same with processes and `SIGKILL`.
#[test]
fn z01_m30_processes_are_killed_during_operations() {
    for_each_run("OSTLER_KILLS", PROCESS_KILLS, |database, seed| {
        let (lines, log) = recorder();
        let mut random = Random::new(seed);
        for life in 0..KILLS {
            let time = Duration::from_millis(100 + random.below(200));
            lines.lock().unwrap().extend(kill_after(time, database, seed, life));
        }
        let last = conclude(database, seed, &lines, &log);
        assert!(run_for(Duration::from_secs(60), last), "seed {seed} hangs");
    });
}
