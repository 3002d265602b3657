//! A process is killed while it writes: acknowledged writes survive.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Charge, Expense};
use ostler_store::{AcceptOutcome, ClaimPolicy, NewReservation, Store, TurnCharges};

use crate::ledger::bought;
use crate::support::{POLICY, TestDatabase, message, next, turn, with_org};

/// The database of the child; without it the child test does nothing.
const URL: &str = "OSTLER_CRASH_CHILD_URL";
/// Short, so that the lease of a killed child expires soon.
const SHORT: ClaimPolicy =
    ClaimPolicy { lease: Duration::from_millis(500), max_per_org: 10_000, ..POLICY };
/// Claims everything that is left.
const POLICY_FOR_ALL: ClaimPolicy = ClaimPolicy { max_per_org: 10_000, ..POLICY };
/// How often a child is killed; an environment variable overrides it.
const KILLS: u64 = 200;

/// The child: accepts and answers messages until it is killed, and prints every
/// acknowledged write.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_is_killed() {
    let Ok(url) = std::env::var(URL) else { return };
    let store = Store::open(&url).await.expect("the database opens");
    let org = store.orgs().await.unwrap()[0].id;
    for n in 0_u32.. {
        let name = format!("{}-{n}", std::process::id());
        accept(&store, org, &name).await;
        println!("accepted {name} .");
        if let Some(claimed) = store.claim_conversation(SHORT).await.expect("claiming works") {
            let name = claimed.messages[0].payload.clone();
            let mut commit = turn(&claimed);
            commit.charges = vec![reserve(&store, org).await];
            store.commit_turn(&commit).await.expect("the turn commits");
            println!("answered {name} .");
        }
    }
}

/// Accepts a message without a backlog limit.
async fn accept(store: &Store, org: OrgId, name: &str) -> AcceptOutcome {
    let accepted = store.org(org).accept_inbound(message(org, name, name), u32::MAX).await;
    accepted.expect("accepted")
}

/// Reserves two credits and returns a charge of one.
async fn reserve(store: &Store, payer: OrgId) -> TurnCharges {
    let (reservation, budget_owner) = (ReservationId::from_u128(next()), AgentId::from_u128(1));
    let new =
        NewReservation { id: reservation, budget_owner, amount: Credits::new(2), ttl: SHORT.lease };
    store.org(payer).reserve_credits(new).await.expect("there are enough");
    let charges = vec![Charge { expense: Expense::Model, amount: Credits::new(1) }];
    TurnCharges { payer, reservation, budget_owner, charges }
}

/// Kills children and checks that all acknowledged writes are stored.
async fn campaign(backend: &TestDatabase) {
    let store = backend.migrated().await;
    let org = with_org(&store, 1).await;
    store.org(org).grant_credits(bought(10_000_000)).await.unwrap();
    let all = store.org(org).credit_account().await.unwrap().available().unwrap();
    let kills = std::env::var("OSTLER_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let (mut accepted, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child_that_is_killed", "--nocapture"])
            .env(URL, &backend.url)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (working, works) = tokio::sync::oneshot::channel();
        // Some children are killed during their first turn, others later.
        let enough = if round % 2 == 0 { "answered" } else { "accepted" };
        let reader = std::thread::spawn(move || {
            let mut working = Some(working);
            let lines = out.lines().map_while(Result::ok);
            lines
                .filter(|line| line.starts_with("accepted") || line.starts_with("answered"))
                .inspect(|line| {
                    if line.starts_with(enough)
                        && let Some(working) = working.take()
                    {
                        let _ = working.send(());
                    }
                })
                .collect::<Vec<_>>()
        });
        works.await.expect("the child works");
        tokio::time::sleep(Duration::from_millis(3 + 7 * (round % 11))).await;
        child.kill().unwrap();
        child.wait().unwrap();
        for line in reader.join().unwrap() {
            // The last line may be incomplete; then it has no full stop.
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["accepted", name, "."] => accepted.insert(name.to_owned()),
                ["answered", payload, "."] => answered.insert(payload.to_owned()),
                _ => false,
            };
        }
    }
    assert!(!accepted.is_empty() && !answered.is_empty(), "the child did something");
    for name in &accepted {
        let again = accept(&store, org, name).await;
        assert!(matches!(again, AcceptOutcome::Duplicate(_)), "{name} was accepted and lost");
    }
    // Answered messages are not claimed again after the leases have expired.
    tokio::time::sleep(SHORT.lease * 2).await;
    while let Some(claimed) = store.claim_conversation(POLICY_FOR_ALL).await.unwrap() {
        for message in claimed.messages {
            assert!(!answered.contains(&message.payload), "{} was answered", message.payload);
        }
    }
    // Nothing stays reserved, and each committed turn was charged once.
    while !store.sweep_reservations().await.unwrap().is_empty() {}
    let left = store.org(org).credit_account().await.unwrap().available().unwrap();
    let check = store.check_ledger().await.unwrap();
    assert!(check.mismatches.is_empty(), "{check:?}");
    let paid = usize::try_from(all.saturating_sub(left).get()).unwrap();
    assert!(paid >= answered.len(), "{paid} of {} turns were paid", answered.len());
    let (mut events, mut cursor) = (0, ostler_store::EventCursor::default());
    for _ in 0..3000 {
        let page = store.org(org).events_after(cursor, 500).await.unwrap();
        events += page.len();
        match page.last() {
            Some(last) => cursor = last.cursor,
            None if events >= paid => break,
            // An older transaction is still running, perhaps in another test.
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    assert_eq!(events, paid, "every turn has its event");
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_a_kill_on_sqlite() {
    campaign(&TestDatabase::sqlite_file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_a_kill_on_postgres() {
    campaign(&TestDatabase::postgres().await).await;
}
