//! Actions of operators and the sweeper, stored together with their inbox and
//! audit entries or not at all.

use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::gate::approval::{ApprovalError, DEFAULT_APPROVAL_TTL};
use ostler_domain::id::{
    ApprovalId, AuditId, CallId, DocumentId, InboxId, OrgId, RunId, SessionId, UserId,
};
use ostler_domain::time::Timestamp;
use ostler_store::{
    ApprovalVerdict, CallOutcome, Checkpoint, ClaimedConversation, DecisionFollowUp, FollowUpEntry,
    NewAuditEntry, NewRun, OperatorChange, RetrySafety, SessionDue, SessionState, Store,
    StoreError, StoredApproval, StoredIntent, TurnSideEffects,
};

use crate::approvals::ask;
use crate::on_every_backend;
use crate::support::{accept, claim, next, turn, with_org};

const OWNER: UserId = UserId::from_u128(1);

fn follow_up(name: &str) -> FollowUpEntry {
    let id = InboxId::from_u128(next());
    FollowUpEntry { id, provider_id: name.into(), payload: format!("{{\"entry\":\"{name}\"}}") }
}

fn audit_entry(action: &str) -> NewAuditEntry {
    NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::Terminal,
        action: action.into(),
        subject: "this".into(),
        data: "{}".into(),
    }
}

async fn actions(store: &Store, org: OrgId) -> Vec<String> {
    let lines = store.org(org).audit_entries(None, None, 100).await.unwrap();
    lines.into_iter().rev().map(|stored| stored.entry.action).collect()
}

/// A session with one answered message.
async fn with_session(
    store: &Store,
    org: OrgId,
    person: &str,
    due: Option<SessionDue>,
) -> SessionId {
    accept(store, org, person, person).await;
    let mut commit = turn(&claim(store).await.unwrap());
    commit.side_effects = TurnSideEffects { session_due: due, ..TurnSideEffects::default() };
    let id = commit.session.id;
    store.commit_turn(&commit).await.unwrap();
    id
}

/// The payloads of the claimed messages.
async fn claimed_payloads(store: &Store) -> Vec<String> {
    let claimed: Option<ClaimedConversation> = claim(store).await;
    let texts = |claimed: ClaimedConversation| {
        claimed.messages.into_iter().map(|message| message.payload).collect()
    };
    claimed.map_or_else(Vec::new, texts)
}

on_every_backend!(
    /// D06, D07: a decision, its inbox entry and its audit entry are stored
    /// together; a second decision changes nothing, and a late one expires the
    /// approval.
    d06_a_decision_its_inbox_entry_and_its_audit_entry_are_stored_together
);
async fn d06_a_decision_its_inbox_entry_and_its_audit_entry_are_stored_together(store: &Store) {
    let org = with_org(store, 1).await;
    let session = with_session(store, org, "rosa", None).await;
    let decide = async |id: ApprovalId, verdict: ApprovalVerdict| {
        let then = DecisionFollowUp {
            decided: follow_up(&format!("decided:{id}")),
            expired: follow_up("expired"),
        };
        store
            .org(org)
            .decide_approval_with_follow_up(id, OWNER, verdict, then, audit_entry("decide"))
            .await
    };
    let id = ask(store, org, session, DEFAULT_APPROVAL_TTL).await;
    decide(id, ApprovalVerdict::Approve).await.unwrap();
    let again = decide(id, ApprovalVerdict::Reject { reason: "late".into() }).await;
    assert!(matches!(again, Err(StoreError::Approval(ApprovalError::NotPending(..)))));
    assert_eq!(claimed_payloads(store).await, [format!("{{\"entry\":\"decided:{id}\"}}")]);
    assert_eq!(actions(store, org).await, ["decide"]);

    let other = with_org(store, 2).await;
    let session = with_session(store, other, "otto", None).await;
    let late = ask(store, other, session, Duration::ZERO).await;
    let then = DecisionFollowUp { decided: follow_up("in time"), expired: follow_up("late") };
    let there = store.org(other);
    let said = there
        .decide_approval_with_follow_up(
            late,
            OWNER,
            ApprovalVerdict::Approve,
            then,
            audit_entry("no"),
        )
        .await;
    assert!(matches!(said, Err(StoreError::Approval(ApprovalError::JustExpired(_)))), "{said:?}");
    assert_eq!(claimed_payloads(store).await, ["{\"entry\":\"late\"}"]);
    assert!(actions(store, other).await.is_empty());
}

fn expired(stored: &StoredApproval) -> Option<FollowUpEntry> {
    Some(follow_up(&format!("expired:{}", stored.approval.id)))
}

on_every_backend!(
    /// D07: an expired approval puts an entry into its conversation's inbox; one
    /// whose session is gone just expires.
    d07_expired_approvals_put_an_entry_into_the_inbox
);
async fn d07_expired_approvals_put_an_entry_into_the_inbox(store: &Store) {
    let org = with_org(store, 1).await;
    let session = with_session(store, org, "rosa", None).await;
    let id = ask(store, org, session, Duration::ZERO).await;
    ask(store, org, SessionId::from_u128(5), Duration::ZERO).await;
    assert_eq!(store.expire_approvals(10, expired).await.unwrap().len(), 2);
    assert!(store.expire_approvals(10, expired).await.unwrap().is_empty());
    assert_eq!(claimed_payloads(store).await, [format!("{{\"entry\":\"expired:{id}\"}}")]);
}

on_every_backend!(
    /// F03: due sessions are listed in pages, the longest overdue first, by the
    /// caller's clock.
    f03_due_sessions_are_listed_in_pages
);
async fn f03_due_sessions_are_listed_in_pages(store: &Store) {
    let org = with_org(store, 1).await;
    let at = |millis| Some(SessionDue::At(Timestamp::from_millis(millis)));
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
    /// Z08: a takeover changes the current session, never a stale one.
    z08_a_takeover_of_a_stale_session_is_refused
);
async fn z08_a_takeover_of_a_stale_session_is_refused(store: &Store) {
    let org = with_org(store, 1).await;
    let id = with_session(store, org, "rosa", None).await;
    let step = |read: ostler_store::StoredSession, data: &str| OperatorChange {
        session: SessionState {
            id: read.id,
            thread: read.thread,
            status: "handed_off".into(),
            data: data.into(),
        },
        read,
        due: SessionDue::Never,
        run: NewRun { id: RunId::from_u128(next()), data: "{}".into(), harness: None },
        messages: vec![],
        outbox: vec![],
        events: vec![],
        inbox: vec![follow_up("first"), follow_up("second")],
        audit: audit_entry("take_over"),
    };
    let stale = store.org(org).session(id).await.unwrap();
    accept(store, org, "rosa", "more").await;
    let mut commit = turn(&claim(store).await.unwrap());
    commit.session.data = "{\"spent\":5}".into();
    store.commit_turn(&commit).await.unwrap();
    let refused = store.org(org).apply_operator_change(step(stale, "{\"spent\":0}")).await;
    assert!(matches!(refused, Err(StoreError::ConversationChanged)), "{refused:?}");
    assert!(actions(store, org).await.is_empty());
    let read = store.org(org).session(id).await.unwrap();
    assert_eq!(read.data, "{\"spent\":5}");
    store
        .org(org)
        .apply_operator_change(step(read.clone(), "{\"spent\":5,\"by\":1}"))
        .await
        .unwrap();
    let again = store.org(org).apply_operator_change(step(read, "{}")).await;
    assert!(matches!(again, Err(StoreError::ConversationChanged)), "{again:?}");
    let expected = ["{\"entry\":\"first\"}", "{\"entry\":\"second\"}"];
    assert_eq!(claimed_payloads(store).await, expected);
}

on_every_backend!(
    /// A write and its audit entry are stored together.
    an_audited_write_and_its_audit_entry_are_stored_together
);
async fn an_audited_write_and_its_audit_entry_are_stored_together(store: &Store) {
    let org = with_org(store, 1).await;
    let document = ostler_domain::knowledge::Document::new("Hours", "Six.", []).unwrap();
    let id = DocumentId::from_u128(next());
    store.org(org).audited(audit_entry("add")).create_document(id, document).await.unwrap();
    store.org(org).audited(audit_entry("remove")).delete_document(id).await.unwrap();
    let gone = store.org(org).audited(audit_entry("again")).delete_document(id).await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))), "{gone:?}");
    let grant = crate::ledger::bought(5);
    store.org(org).audited(audit_entry("grant")).grant_credits(grant).await.unwrap();
    assert_eq!(actions(store, org).await, ["add", "remove", "grant"]);
}

on_every_backend!(
    /// Z09: a call with an unknown outcome is counted until it is resolved; the
    /// resolution enters the conversation's inbox.
    z09_resolving_an_unknown_outcome_continues_the_conversation
);
async fn z09_resolving_an_unknown_outcome_continues_the_conversation(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let commit = turn(&claimed);
    let call = CallId::from_u128(next());
    let intent = StoredIntent {
        call,
        tool: "send_mail".into(),
        key: "k".into(),
        arguments: "{}".into(),
        retry_safety: RetrySafety::Unsafe,
    };
    let checkpoint = Checkpoint { run: commit.run.id, version: 1, state: "{}".into() };
    let time = Duration::from_secs(1);
    store.checkpoint_turn(claimed.lease, checkpoint, vec![intent], time).await.unwrap();
    let unknown = CallOutcome::Unknown("cut off".into());
    store.record_outcome(claimed.lease, call, unknown).await.unwrap();
    store.commit_turn(&commit).await.unwrap();
    let conversation = claimed.lease.conversation();
    assert_eq!(store.org(org).count_unknown_outcomes(conversation).await.unwrap(), 1);
    let then = follow_up("resolved");
    let resolve = store.org(org);
    resolve
        .resolve_unknown_outcome_with_follow_up(
            call,
            "\"it went out\"".into(),
            then,
            audit_entry("resolve"),
        )
        .await
        .unwrap();
    assert_eq!(store.org(org).count_unknown_outcomes(conversation).await.unwrap(), 0);
    assert_eq!(claimed_payloads(store).await, ["{\"entry\":\"resolved\"}"]);
    assert_eq!(actions(store, org).await, ["resolve"]);
}
