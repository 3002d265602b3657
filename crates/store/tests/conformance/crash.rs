//! A process that is killed while it writes: what it was told is there.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Charge, Expense};
use ostler_store::{Accepted, ClaimPolicy, NewReservation, Settle, Store};

use crate::ledger::bought;
use crate::world::{Backend, POLICY, message, next, turn, with_org};

/// Names the database to the child; without it the child test does nothing.
const URL: &str = "OSTLER_CRASH_CHILD_URL";
/// A killed child leaves its lease behind; it must not keep others waiting.
const SHORT: ClaimPolicy =
    ClaimPolicy { lease: Duration::from_millis(500), per_org: 10_000, ..POLICY };
/// Hands out everything that is left.
const POLICY_FOR_ALL: ClaimPolicy = ClaimPolicy { per_org: 10_000, ..POLICY };
/// How often a child is killed here; another campaign sets the variable.
const KILLS: u64 = 200;

/// The child: accepts and answers messages until it is killed, and says each
/// time what was acknowledged to it.
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
            commit.settle = vec![reserve(&store, org).await];
            store.commit_turn(commit).await.expect("the turn commits");
            println!("answered {name} .");
        }
    }
}

/// Accepts a message, however many of the dead wait for an answer.
async fn accept(store: &Store, org: OrgId, name: &str) -> Accepted {
    let accepted = store.org(org).accept_inbound(message(org, name, name), u32::MAX).await;
    accepted.expect("accepted")
}

/// Holds two credits for a moment and says that one was spent.
async fn reserve(store: &Store, payer: OrgId) -> Settle {
    let (reservation, budget_owner) = (ReservationId::from_u128(next()), AgentId::from_u128(1));
    let new = NewReservation {
        id: reservation,
        budget_owner,
        amount: Credits::new(2),
        lasts: SHORT.lease,
    };
    store.org(payer).reserve(new).await.expect("there are enough");
    let charges = vec![Charge { expense: Expense::Model, amount: Credits::new(1) }];
    Settle { payer, reservation, budget_owner, charges }
}

/// Kills a child again and again, and looks for all that it was told.
async fn campaign(backend: &Backend) {
    let store = backend.migrated().await;
    let org = with_org(&store, 1).await;
    store.org(org).grant(bought(10_000_000)).await.unwrap();
    let all = store.org(org).account().await.unwrap().available().unwrap();
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
        // Some are killed in the middle of their first turn, and on a busy
        // machine some have a turn behind them all the same.
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
            // The last line may be cut; then it has no full stop.
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
        assert!(matches!(again, Accepted::Repeat(_)), "{name} was accepted and lost");
    }
    // What was answered is never handed out again, once the dead have let go.
    tokio::time::sleep(SHORT.lease * 2).await;
    while let Some(claimed) = store.claim_conversation(POLICY_FOR_ALL).await.unwrap() {
        for message in claimed.messages {
            assert!(!answered.contains(&message.payload), "{} was answered", message.payload);
        }
    }
    // Nothing stays reserved, and each turn that is there was paid, once.
    while !store.sweep_reservations().await.unwrap().is_empty() {}
    let left = store.org(org).account().await.unwrap().available().unwrap();
    let check = store.check_ledger().await.unwrap();
    assert!(check.wrong.is_empty(), "{check:?}");
    let paid = usize::try_from(all.saturating_sub(left).get()).unwrap();
    assert!(paid >= answered.len(), "{paid} of {} turns were paid", answered.len());
    let (mut events, mut cursor) = (0, ostler_store::EventCursor::default());
    for _ in 0..3000 {
        let page = store.org(org).events_after(cursor, 500).await.unwrap();
        events += page.len();
        match page.last() {
            Some(last) => cursor = last.cursor,
            None if events >= paid => break,
            // Something older is still running, perhaps in another test.
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    assert_eq!(events, paid, "every turn has its event");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_on_sqlite() {
    campaign(&Backend::sqlite_file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_on_postgres() {
    campaign(&Backend::postgres().await).await;
}
