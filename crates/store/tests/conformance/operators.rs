//! What operators and the sweeper do to conversations: with what follows from it
//! and the line that tells of it, or not at all.

use std::time::Duration;

use ostler_domain::audit::Actor;
use ostler_domain::gate::approval::{ApprovalError, EXPIRES_AFTER};
use ostler_domain::id::{
    ApprovalId, AuditId, CallId, DocumentId, InboxId, OrgId, RunId, SessionId, UserId,
};
use ostler_domain::time::Timestamp;
use ostler_store::{
    Aside, Checkpoint, Claimed, Due, GoesOn, Intent, Intervention, NewAudit, NewRun, Outcome,
    Repeat, SessionState, Store, StoreError, StoredApproval, Verdict,
};

use crate::approvals::ask;
use crate::on_every_backend;
use crate::world::{accept, claim, next, turn, with_org};

const OWNER: UserId = UserId::from_u128(1);

fn goes_on(name: &str) -> GoesOn {
    let id = InboxId::from_u128(next());
    GoesOn { id, provider_id: name.into(), payload: format!("{{\"entry\":\"{name}\"}}") }
}

fn line(action: &str) -> NewAudit {
    NewAudit {
        id: AuditId::from_u128(next()),
        actor: Actor::Terminal,
        action: action.into(),
        subject: "this".into(),
        data: "{}".into(),
    }
}

async fn actions(store: &Store, org: OrgId) -> Vec<String> {
    let lines = store.org(org).audit(None, None, 100).await.unwrap();
    lines.into_iter().rev().map(|one| one.line.action).collect()
}

/// A session in which one message was answered.
async fn with_session(store: &Store, org: OrgId, person: &str, due: Option<Due>) -> SessionId {
    accept(store, org, person, person).await;
    let mut commit = turn(&claim(store).await.unwrap());
    commit.aside = Aside { due, ..Aside::default() };
    let id = commit.session.id;
    store.commit_turn(commit).await.unwrap();
    id
}

/// What waits, as it is claimed.
async fn waiting(store: &Store) -> Vec<String> {
    let claimed: Option<Claimed> = claim(store).await;
    let texts = |claimed: Claimed| claimed.messages.into_iter().map(|one| one.payload).collect();
    claimed.map_or_else(Vec::new, texts)
}

on_every_backend!(
    /// D06, D07: a decision, what the conversation goes on with and the line are
    /// stored together; a second decision changes nothing, and one that comes too
    /// late ends the approval.
    d06_a_decision_and_what_follows_are_one
);
async fn d06_a_decision_and_what_follows_are_one(store: &Store) {
    let org = with_org(store, 1).await;
    let session = with_session(store, org, "rosa", None).await;
    let decide = async |id: ApprovalId, verdict: Verdict| {
        let then = goes_on(&format!("decided:{id}"));
        store.org(org).decide_approval_in(id, OWNER, verdict, then, line("decide")).await
    };
    let id = ask(store, org, session, EXPIRES_AFTER).await;
    decide(id, Verdict::Approve).await.unwrap();
    let again = decide(id, Verdict::Reject { reason: "late".into() }).await;
    assert!(matches!(again, Err(StoreError::Approval(ApprovalError::NotPending(_)))));
    assert_eq!(waiting(store).await, [format!("{{\"entry\":\"decided:{id}\"}}")]);
    assert_eq!(actions(store, org).await, ["decide"]);

    let other = with_org(store, 2).await;
    let session = with_session(store, other, "otto", None).await;
    let late = ask(store, other, session, Duration::ZERO).await;
    let then = goes_on("late");
    let there = store.org(other);
    let said = there.decide_approval_in(late, OWNER, Verdict::Approve, then, line("no")).await;
    assert!(matches!(said, Err(StoreError::Approval(ApprovalError::JustExpired(_)))), "{said:?}");
    assert_eq!(waiting(store).await, ["{\"entry\":\"late\"}"]);
    assert!(actions(store, other).await.is_empty());
}

fn expired(stored: &StoredApproval) -> Option<GoesOn> {
    Some(goes_on(&format!("expired:{}", stored.approval.id)))
}

on_every_backend!(
    /// D07: approvals that expire are followed by what their conversations go on
    /// with; one whose session is gone just expires.
    d07_the_sweep_tells_conversations
);
async fn d07_the_sweep_tells_conversations(store: &Store) {
    let org = with_org(store, 1).await;
    let session = with_session(store, org, "rosa", None).await;
    let id = ask(store, org, session, Duration::ZERO).await;
    ask(store, org, SessionId::from_u128(5), Duration::ZERO).await;
    assert_eq!(store.expire_approvals(10, expired).await.unwrap().len(), 2);
    assert!(store.expire_approvals(10, expired).await.unwrap().is_empty());
    assert_eq!(waiting(store).await, [format!("{{\"entry\":\"expired:{id}\"}}")]);
}

on_every_backend!(
    /// F03: sessions that are due are listed page by page, the longest due first,
    /// by the clock that they live by.
    f03_due_sessions_come_page_by_page
);
async fn f03_due_sessions_come_page_by_page(store: &Store) {
    let org = with_org(store, 1).await;
    let at = |millis| Some(Due::At(Timestamp::from_millis(millis)));
    let mut sessions = Vec::new();
    for (person, due) in [("a", at(300)), ("b", at(100)), ("c", at(100)), ("d", None)] {
        sessions.push(with_session(store, org, person, due).await);
    }
    let now = Timestamp::from_millis;
    assert!(store.due_sessions(now(99), None, 10).await.unwrap().is_empty());
    let (mut found, mut last) = (Vec::new(), None);
    loop {
        let page = store.due_sessions(now(300), last.as_ref(), 1).await.unwrap();
        let Some(one) = page.into_iter().next() else { break };
        found.push(one.id);
        last = Some(one);
    }
    assert_eq!(found, [sessions[1], sessions[2], sessions[0]]);
    assert_eq!(store.due_sessions(now(299), None, 10).await.unwrap().len(), 2);
}

on_every_backend!(
    /// Z08: whoever steps in changes the session as it is, never as it was.
    z08_stepping_in_needs_the_newest_session
);
async fn z08_stepping_in_needs_the_newest_session(store: &Store) {
    let org = with_org(store, 1).await;
    let id = with_session(store, org, "rosa", None).await;
    let step = |read: ostler_store::StoredSession, data: &str| Intervention {
        session: SessionState {
            id: read.id,
            thread: read.thread,
            status: "handed_off".into(),
            data: data.into(),
        },
        read,
        due: Due::Never,
        run: NewRun { id: RunId::from_u128(next()), data: "{}".into() },
        messages: vec![],
        outbox: vec![],
        events: vec![],
        inbox: vec![goes_on("first"), goes_on("second")],
        audit: line("take_over"),
    };
    let stale = store.org(org).session(id).await.unwrap();
    accept(store, org, "rosa", "more").await;
    let mut commit = turn(&claim(store).await.unwrap());
    commit.session.data = "{\"spent\":5}".into();
    store.commit_turn(commit).await.unwrap();
    let refused = store.org(org).intervene(step(stale, "{\"spent\":0}")).await;
    assert!(matches!(refused, Err(StoreError::Moved)), "{refused:?}");
    assert!(actions(store, org).await.is_empty());
    let read = store.org(org).session(id).await.unwrap();
    assert_eq!(read.data, "{\"spent\":5}");
    store.org(org).intervene(step(read.clone(), "{\"spent\":5,\"by\":1}")).await.unwrap();
    let again = store.org(org).intervene(step(read, "{}")).await;
    assert!(matches!(again, Err(StoreError::Moved)), "{again:?}");
    let expected = ["{\"entry\":\"first\"}", "{\"entry\":\"second\"}"];
    assert_eq!(waiting(store).await, expected);
}

on_every_backend!(
    /// What is done and the line that tells of it are stored together.
    nothing_is_done_without_its_line
);
async fn nothing_is_done_without_its_line(store: &Store) {
    let org = with_org(store, 1).await;
    let document = ostler_domain::knowledge::Document::new("Hours", "Six.", []).unwrap();
    let id = DocumentId::from_u128(next());
    store.org(org).audited(line("add")).create_document(id, document).await.unwrap();
    store.org(org).audited(line("remove")).delete_document(id).await.unwrap();
    let gone = store.org(org).audited(line("again")).delete_document(id).await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))), "{gone:?}");
    let grant = crate::ledger::bought(5);
    store.org(org).audited(line("grant")).grant(grant).await.unwrap();
    assert_eq!(actions(store, org).await, ["add", "remove", "grant"]);
}

on_every_backend!(
    /// Z09: a call with an unknown outcome is counted until somebody says what
    /// became of it; the conversation goes on with that.
    z09_an_unknown_outcome_is_resolved_with_what_follows
);
async fn z09_an_unknown_outcome_is_resolved_with_what_follows(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let commit = turn(&claimed);
    let call = CallId::from_u128(next());
    let intent = Intent {
        call,
        tool: "send_mail".into(),
        key: "k".into(),
        arguments: "{}".into(),
        repeat: Repeat::Never,
    };
    let checkpoint = Checkpoint { run: commit.run.id, version: 1, state: "{}".into() };
    let time = Duration::from_secs(1);
    store.checkpoint_turn(claimed.lease, checkpoint, vec![intent], time).await.unwrap();
    let unknown = Outcome::Unknown("cut off".into());
    store.record_outcome(claimed.lease, call, unknown).await.unwrap();
    store.commit_turn(commit).await.unwrap();
    let conversation = claimed.lease.conversation();
    assert_eq!(store.org(org).count_unknown_calls(conversation).await.unwrap(), 1);
    let then = goes_on("resolved");
    let resolve = store.org(org);
    resolve
        .resolve_unknown_in(call, "\"it went out\"".into(), then, line("resolve"))
        .await
        .unwrap();
    assert_eq!(store.org(org).count_unknown_calls(conversation).await.unwrap(), 0);
    assert_eq!(waiting(store).await, ["{\"entry\":\"resolved\"}"]);
    assert_eq!(actions(store, org).await, ["resolve"]);
}
