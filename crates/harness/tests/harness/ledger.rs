//! The ledger of an org pays for threads.

use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::pools::{CreditPool, PoolKind};
use ostler_harness::{Budget, EndReason, HarnessBuilder, HarnessError, NoState, Store};
use ostler_store::NewReservation;

use crate::support::{builder_on, memory, ready, wait_for};

const ORG: OrgId = OrgId::from_u128(7);
const SCRIPT: &str = "
price: { input: 100, output: 100 }
rules:
  - when: { user: question }
    answer:
      - call: ask_user
        with: { question: Well? }
      - answered
default: Hello!
";

/// Returns a store with an org, and the credits that the org has.
async fn store_with_org() -> (Store, u64) {
    let store = memory().await;
    store.create_org(ostler_testkit::org(ORG, "bella")).await.unwrap();
    ostler_testkit::grant_credits(&store.org(ORG), "first", 1_000).await;
    let (credits, ..) = figures(&store).await;
    (store, credits)
}

fn paid(store: &Store) -> HarnessBuilder<NoState> {
    builder_on(store.clone(), SCRIPT).org(ORG).budget(Budget::Ledger)
}

/// Returns what the org can spend, has reserved and has spent.
async fn figures(store: &Store) -> (u64, u64, u64) {
    let account = store.org(ORG).credit_account().await.unwrap();
    let sum = |part: fn(&CreditPool) -> Credits| {
        PoolKind::ALL.iter().map(|kind| part(account.pool(*kind)).get()).sum()
    };
    (sum(|pool| pool.available), sum(|pool| pool.reserved), sum(|pool| pool.spent))
}

/// M46: credits of the org are reserved before a model is called, and charged when the turn
/// ends; without credits no model is called.
#[tokio::test]
async fn m46_the_ledger_of_the_org_pays_for_a_thread() {
    let (store, credits) = store_with_org().await;
    let (harness, mut events) = ready(paid(&store)).await;
    assert_eq!(harness.send_message("Hi").await.unwrap().reason, EndReason::Complete);
    let spent = harness.current_thread().await.unwrap().metadata.credits_spent;
    assert!(spent > 0);
    assert_eq!(figures(&store).await, (credits - spent, 0, spent));

    let turn = harness.start_message("question").await.unwrap();
    let asked = wait_for(&mut events, "ask_question").await;
    let (available, reserved, _) = figures(&store).await;
    assert!(reserved > 0, "what waits keeps its credits");
    assert_eq!(available + reserved + spent, credits);
    harness.respond_to_question(asked["questionId"].as_str().unwrap(), "yes").await.unwrap();
    assert_eq!(turn.ended().await.reason, EndReason::Complete);
    let spent = harness.current_thread().await.unwrap().metadata.credits_spent;
    assert_eq!(figures(&store).await, (credits - spent, 0, spent));

    let all = NewReservation {
        id: ReservationId::from_u128(1),
        budget_owner: AgentId::from_u128(1),
        amount: Credits::new(credits - spent),
        ttl: Duration::from_secs(60),
    };
    store.org(ORG).reserve_credits(all).await.unwrap();
    crate::support::names(&mut events);
    let refused = harness.send_message("Hi").await;
    assert!(matches!(refused, Err(HarnessError::NoCredits)), "{refused:?}");
    assert!(!crate::support::names(&mut events).contains(&"agent_start".to_owned()));
}

/// M46: a turn that another harness continues is charged once.
#[tokio::test]
async fn m46_a_turn_that_is_continued_elsewhere_is_charged_once() {
    let (store, credits) = store_with_org().await;
    let (first, mut events) = ready(paid(&store)).await;
    first.start_message("question").await.unwrap();
    wait_for(&mut events, "ask_question").await;
    first.suspend().await.unwrap();
    let (second, mut events) = ready(paid(&store)).await;
    second.select_or_create_thread().await.unwrap();
    let asked = wait_for(&mut events, "ask_question").await;
    second.respond_to_question(asked["questionId"].as_str().unwrap(), "yes").await.unwrap();
    wait_for(&mut events, "agent_end").await;
    let spent = second.current_thread().await.unwrap().metadata.credits_spent;
    assert!(spent > 0);
    assert_eq!(figures(&store).await, (credits - spent, 0, spent));
}
