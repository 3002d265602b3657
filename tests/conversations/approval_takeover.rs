//! Calls that are approved while a person has the conversation.

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::notice::NoticeKind;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::tool::ToolName;
use ostler_runtime::operations::ApprovalTiming;

use crate::approval_outcomes::failed_calls;
use crate::approvals::{SAVES, answer_and_deliver, contacts, only, operator};
use crate::support::{GIA, agent, scenario};

/// D06, decision on a call during a takeover: the person can have it made at once, before or
/// after they approved it. It is made once, the agent says nothing, the person is told the
/// result, and the agent knows it when it has the conversation again.
#[tokio::test]
async fn d06_a_call_is_made_at_once_during_a_takeover_if_wanted() {
    for (approved_before, worked_off) in [(false, false), (true, false), (true, true)] {
        let (scenario, models) = scenario(SAVES).await;
        let operations = scenario.operations();
        scenario.say("rosa", "remember Rosa").await;
        let (id, session) = (only(&scenario).await, scenario.session("rosa").await.id);
        operator(&operations).take_over(session).await.unwrap();
        if approved_before {
            operator(&operations).approve(id).await.unwrap();
        }
        if worked_off {
            assert!(answer_and_deliver(&scenario).await.is_empty());
            assert!(contacts(&scenario).await.is_empty());
        }
        let asked = models.count();
        operator(&operations).approve_with(id, None, ApprovalTiming::AtOnce).await.unwrap();
        assert!(answer_and_deliver(&scenario).await.is_empty());
        assert_eq!(contacts(&scenario).await, ["Rosa"]);
        assert_eq!(models.count(), asked);
        let made = scenario.session("rosa").await;
        assert_eq!(made.status, SessionStatus::HandedOff);
        assert!(made.pending_decisions.is_empty());
        let notices = operator(&operations).unread_notices(None, 100).await.unwrap();
        let told = notices.iter().filter(|one| one.notice.kind == NoticeKind::ApprovedCallMade);
        assert_eq!(told.count(), 1);
        operator(&operations).resume(session).await.unwrap();
        assert!(answer_and_deliver(&scenario).await.is_empty());
        assert_eq!(contacts(&scenario).await, ["Rosa"]);
        assert_eq!(scenario.say("rosa", "thanks").await, ["About thanks: yes."]);
        let history = format!("{:?}", models.last().history);
        assert_eq!(history.matches("Results").count(), 2, "{history}");
    }
}

/// D06: a call that is made at once during a takeover and fails says nothing to the customer
/// either.
#[tokio::test]
async fn d06_a_call_that_fails_during_a_takeover_is_told_to_the_person() {
    let (scenario, _) = scenario(SAVES).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let (id, session) = (only(&scenario).await, scenario.session("rosa").await.id);
    operator(&operations).take_over(session).await.unwrap();
    let mut gia = agent(GIA, "gia", Subtype::CustomerService);
    gia.tools.policy.deny.insert(ToolName::from_static("create_contact"));
    scenario.save_agent(gia).await;
    operator(&operations).approve_with(id, None, ApprovalTiming::AtOnce).await.unwrap();
    assert!(answer_and_deliver(&scenario).await.is_empty());
    assert!(contacts(&scenario).await.is_empty());
    assert_eq!(failed_calls(&operations).await[0].0, "denied by policy");
    assert_eq!(scenario.session("rosa").await.status, SessionStatus::HandedOff);
}
