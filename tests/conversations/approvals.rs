//! Calls that wait for approval.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::audit::AuditActor;
use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::{ApprovalId, AuditId, InboxId, KeyId, OrgId, ReservationId};
use ostler_domain::notice::NoticeKind;
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::{ApprovalSettings, OrgSettings};
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::config::TeamConfig;
use ostler_domain::tool::{Risk, ToolName};
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::{
    Actor, ApprovalTiming, OperationError, Operations, OrgOperations,
};
use ostler_runtime::records::run::RunOutcome;
use ostler_store::{
    DecisionState, FollowUpEntry, NewAuditEntry, NewReservation, ReleaseReason, StoredApproval,
};
use ostler_testkit::TestDatabase;
use proptest::prelude::{ProptestConfig, any};
use proptest::proptest;
use serde_json::json;

use crate::approval_outcomes::failed_calls;
use crate::support::{ENZO, GIA, ORG, Scenario, agent, catalogue};

/// Creates contacts and lists products.
pub(crate) const SAVES: &str = "
rules:
  - when: { user: { regex: 'remember (?<who>\\w+)' } }
    answer: { call: create_contact, with: { name: '{{ who }}' } }
  - when: { user: products }
    answer: [{ call: list_products }, 'We have this: {{ result }}']
  - when: { user: colleague }
    answer:
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: asked, contextSummary: wants a colleague }
  - when: { result: { tool: create_contact, status: pending_approval } }
    answer: I am checking that with my team.
  - when: { result: { tool: create_contact, status: ok } }
    answer: 'You are in our books: {{ result }}'
  - when: { result: create_contact }
    answer: 'That did not work: {{ result }}'
  - when: { user: 'said no' }
    answer: I am sorry, that is not possible.
default: 'About {{ user }}: yes.'
";
const CHECKING: &str = "I am checking that with my team.";

pub(crate) async fn scenario(level: AutonomyLevel) -> Scenario {
    let scenario = Scenario::new(SAVES).await;
    let gia = agent(GIA, "gia", Subtype::CustomerService);
    scenario.save_agent(ostler_domain::agent::Agent { autonomy: level, ..gia }).await;
    scenario
}

pub(crate) fn operator(operations: &Operations) -> OrgOperations<'_> {
    operations.as_actor(Actor::Terminal, ORG)
}

pub(crate) async fn pending(scenario: &Scenario) -> Vec<StoredApproval> {
    scenario.org().approvals(DecisionState::Pending, None, 100).await.unwrap()
}

pub(crate) async fn only(scenario: &Scenario) -> ApprovalId {
    let pending = pending(scenario).await;
    assert_eq!(pending.len(), 1, "{pending:?}");
    pending[0].approval.id
}

/// Returns the names of all contacts.
pub(crate) async fn contacts(scenario: &Scenario) -> Vec<String> {
    let all = scenario.org().contacts(None, 100).await.unwrap();
    all.into_iter().map(|one| one.contact.name).collect()
}

/// Answers all waiting messages and returns the texts that customers are sent.
pub(crate) async fn answer_and_deliver(scenario: &Scenario) -> Vec<String> {
    scenario.work().await;
    scenario.deliver().await.iter().map(crate::support::text_of).collect()
}

/// D01: every call of a supervised agent waits for approval, reads included, and the
/// customer is told that the agent is checking. Tools that control the conversation need
/// no approval.
#[tokio::test]
async fn d01_every_call_of_a_supervised_agent_needs_approval() {
    let scenario = scenario(AutonomyLevel::Supervised).await;
    assert_eq!(scenario.say("rosa", "remember Rosa").await, [CHECKING]);
    scenario.say("rosa", "which products").await;
    let asked: Vec<_> =
        pending(&scenario).await.iter().map(|one| one.approval.tool.to_string()).collect();
    assert_eq!(asked, ["create_contact", "list_products"]);
    assert!(contacts(&scenario).await.is_empty());
    scenario.say("rosa", "a colleague please").await;
    assert_eq!(scenario.session("rosa").await.active_agent(), Some(ENZO));
    assert_eq!(pending(&scenario).await.len(), 2);
}

/// D02: an autonomous agent runs its calls without approval, except for the tools in
/// `require_approval_for`; these need approval at every autonomy level, also when they
/// only read.
#[tokio::test]
async fn d02_an_autonomous_agent_asks_only_for_listed_tools() {
    let scenario = Scenario::new(SAVES).await;
    let listed = |tool: &'static str| BTreeSet::from([ToolName::from_static(tool)]);
    let mut enzo = agent(ENZO, "enzo", Subtype::from("billing_specialist"));
    enzo.autonomy = AutonomyLevel::Autonomous;
    enzo.require_approval_for = listed("list_products");
    scenario.save_agent(enzo).await;
    scenario.pause_gia().await;
    assert!(scenario.say("rosa", "remember Rosa").await[0].starts_with("You are in our books"));
    assert_eq!(contacts(&scenario).await, ["Rosa"]);
    scenario.say("rosa", "which products").await;
    assert_eq!(pending(&scenario).await[0].approval.tool.as_str(), "list_products");

    let scenario = Scenario::new(SAVES).await;
    let mut gia = agent(GIA, "gia", Subtype::CustomerService);
    gia.require_approval_for = listed("list_products");
    scenario.save_agent(gia).await;
    scenario.say("rosa", "which products").await;
    assert_eq!(pending(&scenario).await.len(), 1);
}

/// D03: a write of a draft-only agent is neither run nor put up for approval.
#[tokio::test]
async fn d03_a_draft_only_agent_changes_nothing() {
    let scenario = scenario(AutonomyLevel::DraftOnly).await;
    scenario.say("rosa", "remember Rosa").await;
    assert!(contacts(&scenario).await.is_empty());
    assert!(pending(&scenario).await.is_empty());
    assert!(scenario.say("rosa", "which products").await[0].starts_with("We have this"));
}

/// D04: reads run, writes wait for approval, which shows the risk of the call.
#[tokio::test]
async fn d04_a_semi_autonomous_agent_asks_before_it_writes() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    assert!(scenario.say("rosa", "which products").await[0].starts_with("We have this"));
    assert_eq!(scenario.say("rosa", "remember Rosa").await, [CHECKING]);
    let approval = pending(&scenario).await.remove(0).approval;
    assert_eq!((approval.risk, approval.agent), (Risk::Write, GIA));
    assert!(contacts(&scenario).await.is_empty());
}

/// D06: an approved call runs once, and the customer gets the result in the same session,
/// also after other messages.
#[tokio::test]
async fn d06_an_approved_call_is_made_once() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    assert_eq!(scenario.say("rosa", "meanwhile").await.len(), 1);
    let id = only(&scenario).await;
    operator(&operations).approve(id).await.unwrap();
    let said = answer_and_deliver(&scenario).await;
    assert!(said.len() == 1 && said[0].starts_with("You are in our books"), "{said:?}");
    assert_eq!(contacts(&scenario).await, ["Rosa"]);
    let again = operator(&operations).approve(id).await.unwrap_err().to_string();
    assert_eq!(
        again,
        format!("{id} was approved already, and its call was made; nothing was changed")
    );
    assert!(answer_and_deliver(&scenario).await.is_empty());
    assert_eq!(contacts(&scenario).await, ["Rosa"]);
    let stored = operator(&operations).approval(id).await.unwrap();
    assert!(matches!(stored.approval.status, ApprovalStatus::Used { .. }));
    let audit = scenario.org().audit_entries(Some(&id.to_string()), None, 10).await.unwrap();
    assert_eq!(audit.iter().map(|one| one.entry.action.as_str()).collect::<Vec<_>>(), ["approve"]);
}

/// D06: the arguments can be changed on approval; arguments that do not match the schema
/// are refused and change nothing.
#[tokio::test]
async fn d06_changed_arguments_are_checked_against_the_schema() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    for bad in [json!({"name": 5}), json!({"nome": "Rosa"}), json!("Rosa")] {
        let refused =
            operator(&operations).approve_with(id, Some(&bad), ApprovalTiming::WithAgent).await;
        assert!(matches!(refused, Err(OperationError::BadArguments { .. })), "{bad}: {refused:?}");
    }
    let changed = json!({"name": "Rosa Rossi"});
    let timing = ApprovalTiming::WithAgent;
    operator(&operations).approve_with(id, Some(&changed), timing).await.unwrap();
    answer_and_deliver(&scenario).await;
    assert_eq!(contacts(&scenario).await, ["Rosa Rossi"]);
}

/// D06: a rejected call is not run, its reason is stored, and the agent is told.
#[tokio::test]
async fn d06_a_rejected_call_is_never_made() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    assert!(matches!(operator(&operations).reject(id, " ").await, Err(OperationError::Empty(_))));
    operator(&operations).reject(id, "we keep no names").await.unwrap();
    assert_eq!(answer_and_deliver(&scenario).await, ["I am sorry, that is not possible."]);
    assert!(contacts(&scenario).await.is_empty());
    let stored = operator(&operations).approval(id).await.unwrap();
    let ApprovalStatus::Rejected { reason, .. } = stored.approval.status else { panic!() };
    assert_eq!(reason, "we keep no names");
}

pub(crate) async fn set_approval_expiry(scenario: &Scenario, expire_after: Duration) {
    let settings = OrgSettings {
        team: Some(TeamConfig::default()),
        approvals: ApprovalSettings { expire_after },
        ..OrgSettings::default()
    };
    scenario.save_settings(&settings).await;
}

/// D07: a call without a decision in time is never run; the customer and the owner are
/// told.
#[tokio::test]
async fn d07_an_undecided_approval_expires() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    set_approval_expiry(&scenario, Duration::ZERO).await;
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    assert_eq!(scenario.sweep().await.approvals, 1);
    let said = answer_and_deliver(&scenario).await;
    assert!(said.len() == 1 && said[0].contains("could not be confirmed in time"), "{said:?}");
    let told = scenario.notices().await;
    assert_eq!(told.iter().filter(|one| one.notice.kind == NoticeKind::ApprovalExpired).count(), 1);
    assert!(operator(&operations).approve(id).await.is_err());
    assert!(answer_and_deliver(&scenario).await.is_empty());
    assert!(contacts(&scenario).await.is_empty());
}

/// D07: a decision after the expiry is refused, and the customer is told as by the sweep.
#[tokio::test]
async fn d07_a_late_decision_is_refused() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    set_approval_expiry(&scenario, Duration::ZERO).await;
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    let late = operator(&operations).approve(id).await.unwrap_err().to_string();
    assert_eq!(late, format!("{id} has expired; nothing was run"));
    assert!(answer_and_deliver(&scenario).await[0].contains("could not be confirmed in time"));
    assert_eq!(scenario.sweep().await.approvals, 0);
    assert!(contacts(&scenario).await.is_empty());
}

/// Reserves all credits of the org.
async fn reserve_all_credits(scenario: &Scenario) -> ReservationId {
    let amount = scenario.org().affordable().await.unwrap().unwrap();
    let id = ReservationId::from_u128(0x7e57);
    let ttl = Duration::from_secs(3600);
    let new = NewReservation { id, budget_owner: GIA, amount, ttl };
    scenario.org().reserve_credits(new).await.unwrap();
    id
}

/// D09, O28, O29: an approved call does not run without credits. The person who approved it
/// is told, the customer waits for a person, and the call runs once the agent has the
/// conversation and the credits.
#[tokio::test]
async fn d09_an_approved_call_without_credits_runs_once_there_are_some() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    let held = reserve_all_credits(&scenario).await;
    operator(&operations).approve(id).await.unwrap();
    answer_and_deliver(&scenario).await;
    assert!(contacts(&scenario).await.is_empty());
    assert_eq!(scenario.runs("rosa").await.pop().unwrap().outcome, RunOutcome::CreditsExhausted);
    assert_eq!(
        failed_calls(&operations).await,
        [("not made".into(), "the credits are used up".into())]
    );
    let session = scenario.session("rosa").await;
    assert_eq!(session.status, SessionStatus::HandedOff);
    scenario.org().release_reservation(held).await.unwrap();
    operator(&operations).approve(id).await.unwrap_err();
    operator(&operations).take_over(session.id).await.unwrap();
    operator(&operations).resume(session.id).await.unwrap();
    answer_and_deliver(&scenario).await;
    assert_eq!(contacts(&scenario).await, ["Rosa"]);
}

/// D09, Z02: an approved call passes the gate again: a tool that the agent lost meanwhile
/// is not called.
#[tokio::test]
async fn d09_an_approved_call_of_a_removed_tool_is_refused() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    let mut gia = agent(GIA, "gia", Subtype::CustomerService);
    gia.tools.policy.deny.insert(ToolName::from_static("create_contact"));
    scenario.save_agent(gia).await;
    operator(&operations).approve(id).await.unwrap();
    let said = answer_and_deliver(&scenario).await;
    assert!(said[0].starts_with("That did not work"), "{said:?}");
    assert!(contacts(&scenario).await.is_empty());
}

/// D06: a worker stops after it used the approval and before it committed; the next
/// worker makes the call.
#[tokio::test]
async fn d06_a_crash_between_using_an_approval_and_the_commit_loses_nothing() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    let approved = operator(&operations).approve(id).await.unwrap();
    let policy = Settings::default().claims;
    let claimed = scenario.store.claim_conversation(policy).await.unwrap().unwrap();
    let entry = claimed.messages[0].id;
    scenario.org().use_approval(id, approved.approval.arguments, entry).await.unwrap();
    let back = ReleaseReason::Failed { retry_after: Duration::ZERO };
    scenario.store.release_lease(claimed.lease, back).await.unwrap();
    answer_and_deliver(&scenario).await;
    assert_eq!(contacts(&scenario).await, ["Rosa"]);
    assert!(answer_and_deliver(&scenario).await.is_empty());
}

/// D06: two decisions wait when a worker dies after it used the approval for the first; the
/// next worker makes the call for that one only.
#[tokio::test]
async fn d06_a_crash_with_two_decisions_waiting_makes_the_call_once() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let (id, session) = (only(&scenario).await, scenario.session("rosa").await);
    let approved = operator(&operations).approve(id).await.unwrap();
    for again in ["second", "third"] {
        let audit = NewAuditEntry {
            id: AuditId::from_u128(again.len() as u128),
            actor: AuditActor::Terminal,
            action: "approve".into(),
            subject: id.to_string(),
            data: "{}".into(),
        };
        let entry = FollowUpEntry {
            id: InboxId::from_u128(again.len() as u128),
            provider_id: format!("decided:{id}:{again}"),
            payload: json!({"entry": "approval_decided", "approval": id}).to_string(),
        };
        let conversation = scenario.org().session(session.id).await.unwrap().conversation;
        scenario.org().audited(audit).continue_conversation(conversation, entry).await.unwrap();
    }
    for waiting in [3, 1, 1] {
        let policy = Settings::default().claims;
        let claimed = scenario.store.claim_conversation(policy).await.unwrap().unwrap();
        assert_eq!(claimed.messages.len(), waiting, "after a failure one at a time");
        let (entry, arguments) = (claimed.messages[0].id, approved.approval.arguments);
        scenario.org().use_approval(id, arguments, entry).await.unwrap();
        let back = ReleaseReason::Failed { retry_after: Duration::ZERO };
        scenario.store.release_lease(claimed.lease, back).await.unwrap();
    }
    answer_and_deliver(&scenario).await;
    assert_eq!(contacts(&scenario).await, ["Rosa"]);
}

/// D06: only who may work in the inbox decides: a viewer and a stranger change nothing.
#[tokio::test]
async fn d06_a_viewer_decides_no_approval() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    let key = |org, role| Actor::Key { id: KeyId::from_u128(9), org, role };
    for actor in [key(ORG, Role::Viewer), key(OrgId::from_u128(0x99), Role::Owner)] {
        let operator = operations.as_actor(actor, ORG);
        let changed = json!({"name": "Mallory"});
        for decided in [
            operator.approve(id).await,
            operator.approve_with(id, Some(&changed), ApprovalTiming::WithAgent).await,
            operator.reject(id, "no").await,
        ] {
            assert!(matches!(decided, Err(OperationError::Forbidden { .. })), "{actor:?}");
        }
    }
    assert_eq!(only(&scenario).await, id, "it still waits");
    answer_and_deliver(&scenario).await;
    assert!(contacts(&scenario).await.is_empty());
}

/// D06: a second click while the first waits is refused and adds nothing.
#[tokio::test]
async fn d06_a_second_approval_while_the_call_waits_is_refused() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let id = only(&scenario).await;
    operator(&operations).approve(id).await.unwrap();
    let again = operator(&operations).approve(id).await.unwrap_err().to_string();
    assert_eq!(again, format!("{id} is approved already, and the call is about to be made"));
    answer_and_deliver(&scenario).await;
    assert_eq!(contacts(&scenario).await, ["Rosa"]);
}

/// D06: a call approved during a takeover runs when the conversation is handed back to
/// the agent.
#[tokio::test]
async fn d06_a_decision_during_a_takeover_waits_until_it_is_handed_back() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let (id, session) = (only(&scenario).await, scenario.session("rosa").await.id);
    operator(&operations).approve(id).await.unwrap();
    operator(&operations).take_over(session).await.unwrap();
    assert!(answer_and_deliver(&scenario).await.is_empty());
    assert!(contacts(&scenario).await.is_empty());
    operator(&operations).resume(session).await.unwrap();
    let said = answer_and_deliver(&scenario).await;
    assert!(said.len() == 1 && said[0].starts_with("You are in our books"), "{said:?}");
    assert_eq!(contacts(&scenario).await, ["Rosa"]);
}

/// A call of a closed session is not run.
#[tokio::test]
async fn an_approved_call_of_a_closed_session_is_not_run() {
    let scenario = scenario(AutonomyLevel::SemiAutonomous).await;
    let operations = scenario.operations();
    scenario.say("rosa", "remember Rosa").await;
    let (id, session) = (only(&scenario).await, scenario.session("rosa").await.id);
    operator(&operations).approve(id).await.unwrap();
    operator(&operations).close(session).await.unwrap();
    assert!(answer_and_deliver(&scenario).await.is_empty());
    assert!(contacts(&scenario).await.is_empty());
    scenario.say("otto", "remember Otto").await;
    let (id, session) = (only(&scenario).await, scenario.session("otto").await.id);
    operator(&operations).close(session).await.unwrap();
    let refused = operator(&operations).approve(id).await.unwrap_err().to_string();
    assert_eq!(refused, format!("{id} ended with its session, which is closed; nothing was run"));
}

/// Applies one random step to the approvals.
async fn apply_random_step(scenario: &Scenario, operations: &Operations, what: u8, number: usize) {
    let operator = operator(operations);
    let first = pending(scenario).await.first().map(|one| one.approval.id);
    match (what % 6, first) {
        (0 | 1, _) => {
            let lasts = what.is_multiple_of(6);
            let time = if lasts { Duration::from_secs(3600) } else { Duration::ZERO };
            set_approval_expiry(scenario, time).await;
            scenario.write("rosa", &format!("remember Rosa{number}")).await;
        }
        // One may have expired meanwhile.
        (2, Some(id)) => drop(operator.approve(id).await),
        (3, Some(id)) => drop(operator.reject(id, "no").await),
        (4, _) => drop(scenario.sweep().await),
        _ => {}
    }
}

async fn counts_agree(steps: Vec<u8>) {
    let store = TestDatabase::sqlite_memory().migrated().await;
    drop(Scenario::in_store(store.clone(), SAVES).await);
    let scenario = Scenario::with_models(store, catalogue(SAVES), Settings::default());
    let operations = scenario.operations();
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    for (number, what) in steps.into_iter().enumerate() {
        apply_random_step(&scenario, &operations, what, number).await;
        let rows = pending(&scenario).await.len();
        let shown = operator(&operations).session(id).await.unwrap();
        assert_eq!(shown.session.pending_approvals as usize, rows, "shown at once");
        assert_eq!(shown.approvals.len(), rows);
        scenario.work().await;
        let rows = pending(&scenario).await.len();
        let stored = scenario.session("rosa").await;
        assert_eq!(stored.pending_approvals as usize, rows, "stored once all is done");
        if stored.status != ostler_domain::session::status::SessionStatus::Active {
            return;
        }
    }
    let rows = pending(&scenario).await.len();
    scenario.say("rosa", "how is it going").await;
    let run = scenario.runs("rosa").await.pop().unwrap();
    let harness = &run.turns[0].harness.escalation_state;
    assert_eq!(harness.pending_approvals as usize, rows, "in the harness");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// D08: after any sequence of steps the number of pending approvals equals the rows:
    /// in the view at once, in the session and the harness after the next turn.
    #[test]
    fn d08_the_number_of_pending_approvals_is_right(
        steps in proptest::collection::vec(any::<u8>(), 1..9),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(counts_agree(steps));
    }
}
