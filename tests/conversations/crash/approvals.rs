//! Kills processes while they make approved calls, with the same approval clicked several
//! times before and after.

use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::id::ApprovalId;
use ostler_runtime::operations::{Actor, OperationError};
use ostler_store::{DecisionState, StoreError};
use ostler_testkit::TestDatabase;

use super::campaign::Campaign;
use super::process::CustomerMessage;
use crate::support::{GIA, ORG};

/// The fault points of a run that makes an approved call.
const PLACES: [&str; 7] = [
    "after_claim",
    "after_approval",
    "before_checkpoint",
    "after_checkpoint",
    "after_tool",
    "before_commit",
    "after_commit",
];

/// A message whose call is made inside the store, outside and not repeatable, or outside
/// and repeatable.
fn message(round: usize) -> CustomerMessage {
    let what = ["note", "mail", "post"][round % 3];
    let word = format!("w{round:04}x");
    CustomerMessage { from: format!("+39333{round:04}"), text: format!("{what} {word}"), word }
}

/// Approves a call some times; each click succeeds or says that it is decided.
async fn click(campaign: &Campaign, id: ApprovalId, times: usize) {
    let operations = campaign.org.scenario.operations();
    for _ in 0..times {
        match operations.as_actor(Actor::Terminal, ORG).approve(id).await {
            Ok(_)
            | Err(
                OperationError::AlreadyApproved(_) | OperationError::Store(StoreError::Approval(_)),
            ) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// Asks for a call, approves it several times, and kills processes that make it.
async fn round(campaign: &Campaign, place: &str, round: usize) {
    let message = message(round);
    campaign.orders(std::slice::from_ref(&message)).receive_messages(&campaign.org).await;
    campaign.finish().await;
    let pending = campaign.org.scenario.org().approvals(DecisionState::Pending, None, 2).await;
    let id = pending.unwrap().pop().expect("the call waits").approval.id;
    click(campaign, id, 1 + round % 3).await;
    if place.is_empty() {
        campaign.kill_after(&[], Duration::from_millis(20 + (round as u64 * 37) % 300)).await;
    } else {
        campaign.try_to_kill_at(&[], &format!("{place}:1")).await;
    }
    click(campaign, id, round % 4).await;
    campaign.expire_leases().await;
    click(campaign, id, round % 2).await;
    campaign.finish().await;
    campaign.assert_tools_acted_once(&message).await;
}

/// Returns the number of kills; PostgreSQL gets half of it.
fn kills() -> usize {
    std::env::var("OSTLER_APPROVAL_KILLS").map_or(40, |kills| kills.parse().unwrap())
}

/// D06, Z01: however often an approval is clicked and wherever the process is killed, the
/// approved call is made once, or its outcome is unknown.
async fn run_campaign(database: TestDatabase, rounds: usize) {
    let campaign = Campaign::begin("approvals", database, 1000).await;
    let scenario = &campaign.org.scenario;
    scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::SemiAutonomous).await;
    for number in 0..rounds {
        let place = PLACES.get(number % (PLACES.len() + 1)).copied().unwrap_or_default();
        round(&campaign, place, number).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d06_z01_clicks_and_kills_make_an_approved_call_once() {
    run_campaign(TestDatabase::sqlite_file(), kills()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d06_z01_clicks_and_kills_on_postgres_make_an_approved_call_once() {
    run_campaign(TestDatabase::postgres().await, kills() / 2).await;
}
