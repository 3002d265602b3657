//! What becomes of approvals: calls that fail, sessions that end, calls that are not made in
//! time.

use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::{ApprovalId, KeyId, UserId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::role::Role;
use ostler_domain::tool::ToolName;
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::{Actor, CallTiming, Operations};
use ostler_store::{ApprovalVerdict, ReleaseReason};

use crate::approvals::{
    answer_and_deliver, contacts, only, operator, pending, scenario, set_approval_expiry,
};
use crate::support::{GIA, ORG, Scenario, agent};

/// Returns how the approved calls failed that the operator is told of, and why.
pub(crate) async fn failed_calls(operations: &Operations) -> Vec<(String, String)> {
    let notices = operator(operations).unread_notices(None, 100).await.unwrap();
    let failed = notices.iter().filter(|one| one.notice.kind == NoticeKind::ApprovedCallFailed);
    let failed = failed.map(|one| {
        let data: serde_json::Value = serde_json::from_str(&one.notice.data).unwrap();
        let text = |name: &str| data[name].as_str().unwrap().to_owned();
        (text("outcome"), text("why"))
    });
    failed.collect()
}

/// O28: an approved call that the policy refuses by now is told to the person who approved
/// it, and to nobody else.
#[tokio::test]
async fn o28_the_person_who_approved_is_told_that_the_call_failed() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    let mut gia = agent(GIA, "gia", Subtype::CustomerService);
    gia.tools.policy.deny.insert(ToolName::from_static("create_contact"));
    scenario.save_agent(gia).await;
    operator(&operations).approve(id).await.unwrap();
    answer_and_deliver(&scenario).await;
    let failed = failed_calls(&operations).await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].0, "denied by policy");
    let owner = scenario.notice_kinds(NoticeRecipient::Owner).await;
    assert!(!owner.contains(&NoticeKind::ApprovedCallFailed), "{owner:?}");
    let other = Actor::Key { id: KeyId::from_u128(77), org: ORG, role: Role::Owner };
    let other = operations.as_actor(other, ORG).unread_notices(None, 100).await.unwrap();
    assert!(other.iter().all(|one| one.notice.kind != NoticeKind::ApprovedCallFailed));
}

/// O28: an approved call that succeeds leaves no such notice.
#[tokio::test]
async fn o28_a_call_that_succeeds_is_not_reported_as_failed() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    operator(&operations).approve(only(&scenario).await).await.unwrap();
    answer_and_deliver(&scenario).await;
    assert!(failed_calls(&operations).await.is_empty());
}

async fn status(scenario: &Scenario, id: ApprovalId) -> ApprovalStatus {
    scenario.org().approval(id).await.unwrap().approval.status
}

/// O28: closing a session ends its open approvals, pending and approved, and approving one
/// says so. What was decided during a takeover is never called.
#[tokio::test]
async fn o28_approvals_end_with_their_session() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let approved = only(&scenario).await;
    let session = scenario.session("rosa").await.id;
    operator(&operations).take_over(session).await.unwrap();
    operator(&operations).approve(approved).await.unwrap();
    answer_and_deliver(&scenario).await;
    operator(&operations).resume(session).await.unwrap();
    operator(&operations).close(session).await.unwrap();
    answer_and_deliver(&scenario).await;
    assert_eq!(status(&scenario, approved).await, ApprovalStatus::Withdrawn);
    scenario.say("rosa", "remember Otto").await;
    let open = only(&scenario).await;
    let session = scenario.session("rosa").await.id;
    let closed = operator(&operations).close(session).await.unwrap();
    assert_eq!(closed.pending_approvals, 0);
    assert!(pending(&scenario).await.is_empty());
    let ended = format!("{open} ended with its session, which is closed; nothing was run");
    assert_eq!(operator(&operations).approve(open).await.unwrap_err().to_string(), ended);
    assert_eq!(operator(&operations).reject(open, "no").await.unwrap_err().to_string(), ended);
    assert_eq!(operator(&operations).call_timing(open).await.unwrap_err().to_string(), ended);
    answer_and_deliver(&scenario).await;
    assert!(contacts(&scenario).await.is_empty());
}

/// O28: a session that expires takes its unused approvals with it, by the sweep or by the
/// customer's next message.
#[tokio::test]
async fn o28_approvals_end_with_a_session_that_expires() {
    for by_sweep in [true, false] {
        let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
        let operations = scenario.operations();
        scenario.say("rosa", "remember Rosa").await;
        let id = only(&scenario).await;
        // The decision is stored, and the entry that makes the call is lost.
        scenario
            .org()
            .decide_approval(id, UserId::from_u128(5), ApprovalVerdict::Approve)
            .await
            .unwrap();
        scenario.say("rosa", "meanwhile").await;
        scenario.advance(Duration::from_secs(30 * 24 * 3600));
        if by_sweep {
            scenario.sweep().await;
            answer_and_deliver(&scenario).await;
        } else {
            scenario.say("rosa", "hello again").await;
        }
        assert_eq!(status(&scenario, id).await, ApprovalStatus::Withdrawn, "{by_sweep}");
        assert!(operator(&operations).approve(id).await.is_err());
    }
}

/// O28: `approve` tells when the call is made, in each state of the session.
#[tokio::test]
async fn o28_the_time_of_the_call_depends_on_the_state_of_the_session() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let (id, session) = (only(&scenario).await, scenario.session("rosa").await);
    let timing = async || operator(&operations).call_timing(id).await.unwrap();
    assert_eq!(timing().await, CallTiming::Now);
    scenario.write("rosa", "one more thing").await;
    let policy = Settings::default().claims;
    let claimed = scenario.store.claim_conversation(policy).await.unwrap().unwrap();
    assert_eq!(timing().await, CallTiming::AfterTurn);
    scenario.store.release_lease(claimed.lease, ReleaseReason::Untried).await.unwrap();
    operator(&operations).take_over(session.id).await.unwrap();
    assert_eq!(timing().await, CallTiming::AfterResume);
}

/// D07: an approved call that is not made in time is never made; the customer and the
/// person who approved are told, once.
#[tokio::test]
async fn d07_an_approved_call_that_is_not_made_in_time_expires() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    set_approval_expiry(&scenario, Duration::from_secs(1)).await;
    scenario.say("rosa", "remember Rosa").await;
    let (id, session) = (only(&scenario).await, scenario.session("rosa").await.id);
    operator(&operations).take_over(session).await.unwrap();
    operator(&operations).approve(id).await.unwrap();
    answer_and_deliver(&scenario).await;
    tokio::time::sleep(Duration::from_millis(1050)).await;
    assert_eq!(scenario.sweep().await.approvals, 1);
    let said = answer_and_deliver(&scenario).await;
    assert!(said.len() == 1 && said[0].contains("could not be confirmed in time"), "{said:?}");
    operator(&operations).resume(session).await.unwrap();
    let said = answer_and_deliver(&scenario).await;
    assert!(said.iter().all(|text| !text.contains("in time")), "{said:?}");
    let notices = operator(&operations).unread_notices(None, 100).await.unwrap();
    let expired = notices.iter().filter(|one| one.notice.kind == NoticeKind::ApprovalExpired);
    assert_eq!(expired.count(), 1);
    assert!(contacts(&scenario).await.is_empty());
}
