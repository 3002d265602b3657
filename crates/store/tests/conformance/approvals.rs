//! Approvals: decided once, used once, expired by the database's clock.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::AskReason;
use ostler_domain::gate::approval::{
    Approval, ApprovalError, ApprovalStatus, ArgumentsHash, DEFAULT_APPROVAL_TTL, EndedApproval,
};
use ostler_domain::id::{AgentId, ApprovalId, InboxId, OrgId, SessionId, UserId};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Risk, ToolName};
use ostler_store::{ApprovalVerdict, DecisionState, Store, StoreError, StoredApproval};

use crate::on_every_backend;
use crate::sessions::takeover_change;
use crate::support::{TestDatabase, accept, claim, next, turn, with_org};

const OWNER: UserId = UserId::from_u128(1);
const SESSION: SessionId = SessionId::from_u128(3);
const ASKED: ArgumentsHash = ArgumentsHash([1; 32]);
const EDITED: ArgumentsHash = ArgumentsHash([2; 32]);
const ENTRY: InboxId = InboxId::from_u128(7);

/// An approval requested by a node with a wrong clock.
fn new_approval(session: SessionId, time: Duration) -> StoredApproval {
    let requested_at = Timestamp::from_millis(5);
    StoredApproval {
        approval: Approval {
            id: ApprovalId::from_u128(next()),
            session,
            agent: AgentId::from_u128(4),
            tool: ToolName::from_static("refund_payment"),
            risk: Risk::Destructive,
            ask_reason: AskReason::Autonomy {
                level: AutonomyLevel::Supervised,
                risk: Risk::Destructive,
            },
            arguments: ASKED,
            requested_at,
            expires_at: requested_at + time,
            status: ApprovalStatus::Pending,
        },
        payload: r#"{"amount":5,"note":"\u0000"}"#.into(),
    }
}

pub(crate) async fn ask(
    store: &Store,
    org: OrgId,
    session: SessionId,
    time: Duration,
) -> ApprovalId {
    let new = new_approval(session, time);
    let id = new.approval.id;
    store.org(org).create_approval(new).await.unwrap();
    id
}

fn status_of(result: Result<StoredApproval, StoreError>) -> Result<ApprovalStatus, ApprovalError> {
    match result {
        Ok(stored) => Ok(stored.approval.status),
        Err(StoreError::Approval(why)) => Err(why),
        Err(other) => panic!("{other}"),
    }
}

on_every_backend!(
    /// D06: listed, approved, rejected with a reason, used once with the stored
    /// payload.
    d06_an_approval_is_decided_and_used
);
async fn d06_an_approval_is_decided_and_used(store: &Store) {
    let org = with_org(store, 1).await;
    let new = new_approval(SESSION, DEFAULT_APPROVAL_TTL);
    let id = new.approval.id;
    store.org(org).create_approval(new.clone()).await.unwrap();
    let twice = store.org(org).create_approval(new.clone()).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
    let stored = store.org(org).approval(id).await.unwrap();
    let (from, to) = (stored.approval.requested_at, stored.approval.expires_at);
    assert!(from > Timestamp::from_millis(1_700_000_000_000), "the database's clock");
    assert!(to.since(from).abs_diff(DEFAULT_APPROVAL_TTL) < Duration::from_secs(1));
    let as_asked = StoredApproval {
        approval: Approval { requested_at: from, expires_at: to, ..new.approval },
        ..new
    };
    assert_eq!(stored, as_asked);

    let early = store.org(org).use_approval(id, ASKED, ENTRY).await;
    assert_eq!(status_of(early), Err(ApprovalError::NotUsable(id)));
    let yes = store.org(org).decide_approval(id, OWNER, ApprovalVerdict::Approve).await;
    assert_eq!(status_of(yes), Ok(ApprovalStatus::Approved { by: OWNER }));
    let other = store.org(org).use_approval(id, EDITED, ENTRY).await;
    assert_eq!(status_of(other), Err(ApprovalError::OtherArguments(id)));
    let used = store.org(org).use_approval(id, ASKED, ENTRY).await.unwrap();
    assert_eq!(used.payload, as_asked.payload);
    let other = store.org(org).use_approval(id, ASKED, InboxId::from_u128(8)).await;
    assert_eq!(status_of(other), Err(ApprovalError::NotUsable(id)));
    let again = store.org(org).use_approval(id, ASKED, ENTRY).await;
    assert_eq!(status_of(again), Ok(used.approval.status), "a repeated run continues");

    let id = ask(store, org, SESSION, DEFAULT_APPROVAL_TTL).await;
    let no = ApprovalVerdict::Reject { reason: "too much".into() };
    store.org(org).decide_approval(id, OWNER, no).await.unwrap();
    let late = store.org(org).decide_approval(id, OWNER, ApprovalVerdict::Approve).await;
    assert_eq!(status_of(late), Err(ApprovalError::NotPending(id, EndedApproval::Rejected)));
    let rejected = store.org(org).approvals(DecisionState::Rejected, None, 9).await.unwrap();
    let reason = "too much".to_owned();
    assert_eq!(rejected[0].approval.status, ApprovalStatus::Rejected { by: OWNER, reason });

    let id = ask(store, org, SESSION, DEFAULT_APPROVAL_TTL).await;
    let verdict =
        ApprovalVerdict::ApproveWith { arguments: EDITED, payload: r#"{"amount":4}"#.into() };
    store.org(org).decide_approval(id, OWNER, verdict).await.unwrap();
    let as_it_was = store.org(org).use_approval(id, ASKED, ENTRY).await;
    assert_eq!(status_of(as_it_was), Err(ApprovalError::OtherArguments(id)));
    let used = store.org(org).use_approval(id, EDITED, ENTRY).await.unwrap();
    assert_eq!(used.payload, r#"{"amount":4}"#);
}

on_every_backend!(
    /// D06: one of a hundred concurrent decisions counts, and one of a hundred concurrent
    /// uses succeeds.
    d06_the_first_decision_and_the_first_use_count
);
async fn d06_the_first_decision_and_the_first_use_count(store: &Store) {
    let org = with_org(store, 1).await;
    let id = ask(store, org, SESSION, DEFAULT_APPROVAL_TTL).await;
    let decide = |n: u128| {
        let (store, by) = (store.clone(), UserId::from_u128(n));
        let verdict = match n % 3 {
            0 => ApprovalVerdict::Approve,
            1 => ApprovalVerdict::ApproveWith { arguments: ASKED, payload: n.to_string() },
            _ => ApprovalVerdict::Reject { reason: n.to_string() },
        };
        tokio::spawn(async move { store.org(org).decide_approval(id, by, verdict).await })
    };
    let mut won = Vec::new();
    for decided in (0..100).map(decide).collect::<Vec<_>>() {
        match decided.await.unwrap() {
            Ok(stored) => won.push(stored),
            Err(StoreError::Approval(ApprovalError::NotPending(..))) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(won, [store.org(org).approval(id).await.unwrap()]);

    let id = ask(store, org, SESSION, DEFAULT_APPROVAL_TTL).await;
    store.org(org).decide_approval(id, OWNER, ApprovalVerdict::Approve).await.unwrap();
    let take = |n| {
        let (store, entry) = (store.clone(), InboxId::from_u128(n));
        tokio::spawn(async move { store.org(org).use_approval(id, ASKED, entry).await.is_ok() })
    };
    let mut used = 0;
    for taken in (0..100).map(take).collect::<Vec<_>>() {
        used += usize::from(taken.await.unwrap());
    }
    assert_eq!(used, 1);
}

on_every_backend!(
    /// D07: an overdue approval expires once and cannot be used; the sweep returns it.
    d07_an_approval_expires
);
async fn d07_an_approval_expires(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let late = ask(store, here, SESSION, Duration::ZERO).await;
    let yes = store.org(here).decide_approval(late, OWNER, ApprovalVerdict::Approve).await;
    assert_eq!(status_of(yes), Err(ApprovalError::JustExpired(late)));
    let status = store.org(here).approval(late).await.unwrap().approval.status;
    assert_eq!(status, ApprovalStatus::Expired { approved_by: None }, "it stays expired");
    let again = store.org(here).decide_approval(late, OWNER, ApprovalVerdict::Approve).await;
    assert_eq!(status_of(again), Err(ApprovalError::NotPending(late, EndedApproval::Expired)));

    let waiting = ask(store, here, SESSION, DEFAULT_APPROVAL_TTL).await;
    let mut over = BTreeSet::new();
    for n in 0..25 {
        let org = [here, there][n % 2];
        over.insert((org, ask(store, org, SESSION, Duration::ZERO).await));
    }
    let sweep = |_| {
        let store = store.clone();
        tokio::spawn(async move { store.expire_approvals(4, |_| None).await.unwrap() })
    };
    let mut expired = Vec::new();
    while expired.len() < over.len() {
        for swept in (0..4).map(sweep).collect::<Vec<_>>() {
            let swept = swept.await.unwrap();
            assert!(swept.len() <= 4);
            expired.extend(swept.into_iter().map(|(org, stored)| {
                assert_eq!(stored.approval.status, ApprovalStatus::Expired { approved_by: None });
                (org, stored.approval.id)
            }));
        }
    }
    assert_eq!(expired.len(), over.len(), "each once");
    assert_eq!(expired.into_iter().collect::<BTreeSet<_>>(), over);
    assert!(store.expire_approvals(100, |_| None).await.unwrap().is_empty());
    for (org, id) in over {
        let used = store.org(org).use_approval(id, ASKED, ENTRY).await;
        assert_eq!(status_of(used), Err(ApprovalError::NotUsable(id)));
    }
    assert!(store.org(here).approval(waiting).await.unwrap().approval.is_pending());
}

on_every_backend!(
    /// D07: an approved call that is not made in time expires and cannot be used.
    d07_an_approved_call_expires
);
async fn d07_an_approved_call_expires(store: &Store) {
    let org = with_org(store, 1).await;
    let (soon, late) = (Duration::from_millis(50), DEFAULT_APPROVAL_TTL);
    let (over, open) = (ask(store, org, SESSION, soon).await, ask(store, org, SESSION, late).await);
    for id in [over, open] {
        store.org(org).decide_approval(id, OWNER, ApprovalVerdict::Approve).await.unwrap();
    }
    tokio::time::sleep(2 * soon).await;
    let used = store.org(org).use_approval(over, ASKED, ENTRY).await;
    assert_eq!(status_of(used), Err(ApprovalError::NotUsable(over)));
    let expired = store.expire_approvals(9, |_| None).await.unwrap();
    assert_eq!(expired.iter().map(|(_, one)| one.approval.id).collect::<Vec<_>>(), [over]);
    let status = store.org(org).approval(over).await.unwrap().approval.status;
    assert_eq!(status, ApprovalStatus::Expired { approved_by: Some(OWNER) });
    assert!(store.expire_approvals(9, |_| None).await.unwrap().is_empty());
    assert!(store.org(org).use_approval(open, ASKED, ENTRY).await.is_ok());
}

/// Asks for four approvals of a session and returns them pending, approved, used and
/// rejected.
async fn one_of_each(store: &Store, org: OrgId, session: SessionId) -> [ApprovalId; 4] {
    let mut all = [ApprovalId::from_u128(0); 4];
    for id in &mut all {
        *id = ask(store, org, session, DEFAULT_APPROVAL_TTL).await;
    }
    for id in &all[1..3] {
        store.org(org).decide_approval(*id, OWNER, ApprovalVerdict::Approve).await.unwrap();
    }
    store.org(org).use_approval(all[2], ASKED, ENTRY).await.unwrap();
    let no = ApprovalVerdict::Reject { reason: "no".into() };
    store.org(org).decide_approval(all[3], OWNER, no).await.unwrap();
    all
}

async fn assert_withdrawn(store: &Store, org: OrgId, all: [ApprovalId; 4]) {
    for (id, withdrawn) in all.into_iter().zip([true, true, false, false]) {
        let status = store.org(org).approval(id).await.unwrap().approval.status;
        assert_eq!(status == ApprovalStatus::Withdrawn, withdrawn, "{status:?}");
    }
}

on_every_backend!(
    /// O28: whatever closes a session withdraws its open approvals in the same
    /// transaction: an operator, a turn, or the turn that opens the next session. Those of
    /// other sessions stay.
    o28_a_session_is_closed_together_with_its_approvals
);
async fn o28_a_session_is_closed_together_with_its_approvals(store: &Store) {
    let org = with_org(store, 1).await;
    let elsewhere = ask(store, org, SESSION, DEFAULT_APPROVAL_TTL).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let first = turn(&claimed);
    store.commit_turn(&first).await.unwrap();
    let all = one_of_each(store, org, first.session.id).await;
    let mut close = takeover_change(store, &claimed, "goodbye").await;
    close.session.status = "closed".into();
    store.org(org).apply_operator_change(close).await.unwrap();
    assert_withdrawn(store, org, all).await;
    let late = store.org(org).decide_approval(all[0], OWNER, ApprovalVerdict::Approve).await;
    assert_eq!(status_of(late), Err(ApprovalError::Withdrawn(all[0])));

    // A turn that asks while its session is closed leaves nothing open.
    accept(store, org, "otto", "m2").await;
    let claimed = claim(store).await.unwrap();
    let mut closing = turn(&claimed);
    closing.session.status = "closed".into();
    let new = new_approval(closing.session.id, DEFAULT_APPROVAL_TTL);
    closing.side_effects.approvals.push(new.clone());
    let all = one_of_each(store, org, closing.session.id).await;
    store.commit_turn(&closing).await.unwrap();
    assert_withdrawn(store, org, all).await;
    assert_withdrawn(store, org, [new.approval.id, all[1], all[2], all[3]]).await;

    accept(store, org, "otto", "m3").await;
    let claimed = claim(store).await.unwrap();
    let mut next_session = turn(&claimed);
    let old = closing.session;
    let all = one_of_each(store, org, old.id).await;
    next_session.session.id = SessionId::from_u128(next());
    next_session.side_effects.closed_session = Some(old);
    store.commit_turn(&next_session).await.unwrap();
    assert_withdrawn(store, org, all).await;
    assert!(store.org(org).approval(elsewhere).await.unwrap().approval.is_pending());
}

on_every_backend!(
    /// D08, A24: after any sequence the count equals the number of pending rows.
    d08_the_count_equals_the_number_of_pending_approvals
);
async fn d08_the_count_equals_the_number_of_pending_approvals(store: &Store) {
    let org = with_org(store, 1).await;
    let sessions = [SessionId::from_u128(1), SessionId::from_u128(2)];
    let mut pending: Vec<Vec<ApprovalId>> = vec![vec![], vec![]];
    let mut state = 7_u64;
    for step in 0..150 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (act, of) = ((state >> 33) % 8, (state >> 40) as usize % 2);
        match (act, pending[of].is_empty()) {
            (4..=6, false) => {
                let id = pending[of].remove(0);
                let verdict = match act {
                    4 => ApprovalVerdict::Approve,
                    5 => ApprovalVerdict::Reject { reason: "no".into() },
                    _ => ApprovalVerdict::ApproveWith { arguments: EDITED, payload: "{}".into() },
                };
                store.org(org).decide_approval(id, OWNER, verdict).await.unwrap();
            }
            (7, _) => {
                ask(store, org, sessions[of], Duration::ZERO).await;
                assert_eq!(store.expire_approvals(9, |_| None).await.unwrap().len(), 1);
            }
            _ => pending[of].push(ask(store, org, sessions[of], DEFAULT_APPROVAL_TTL).await),
        }
        for (session, rows) in sessions.iter().zip(&pending) {
            let counted = store.org(org).count_pending_approvals(Some(*session)).await.unwrap();
            assert_eq!(counted, rows.len() as u64, "step {step}");
        }
        let all = store.org(org).count_pending_approvals(None).await.unwrap();
        assert_eq!(all, pending.iter().flatten().count() as u64, "step {step}");
    }
    for (session, rows) in sessions.iter().zip(&pending) {
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let page = store.org(org).pending_approvals(*session, after, 4).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.approval.id);
            seen.extend(page.iter().map(|stored| stored.approval.id));
        }
        assert_eq!(&seen, rows);
    }
    let every = store.org(org).approvals(DecisionState::Pending, None, 200).await.unwrap();
    assert_eq!(every.len(), pending.iter().flatten().count());
}

on_every_backend!(
    /// A05: an approval of another org is not found.
    a05_approvals_stay_in_their_org
);
async fn a05_approvals_stay_in_their_org(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let id = ask(store, here, SESSION, DEFAULT_APPROVAL_TTL).await;
    let spy = store.org(there);
    for refused in [
        spy.approval(id).await,
        spy.decide_approval(id, OWNER, ApprovalVerdict::Approve).await,
        spy.use_approval(id, ASKED, ENTRY).await,
    ] {
        assert!(matches!(refused, Err(StoreError::NotFound("approval"))), "{refused:?}");
    }
    assert!(spy.approvals(DecisionState::Pending, None, 9).await.unwrap().is_empty());
    assert!(spy.pending_approvals(SESSION, None, 9).await.unwrap().is_empty());
    assert_eq!(spy.count_pending_approvals(Some(SESSION)).await.unwrap(), 0);
    assert!(store.org(here).approval(id).await.unwrap().approval.is_pending());
}

/// An approval written by a newer program does not block the others.
#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_approval_is_left_to_a_newer_program() {
    for backend in [TestDatabase::sqlite_file(), TestDatabase::postgres().await] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        ask(&store, org, SESSION, Duration::ZERO).await;
        backend.execute("UPDATE decisions SET data = '{\"newer\":true}'").await;
        let readable = ask(&store, org, SESSION, Duration::ZERO).await;
        let mut expired = store.expire_approvals(1, |_| None).await.unwrap();
        expired.extend(store.expire_approvals(1, |_| None).await.unwrap());
        let expired: Vec<_> = expired.iter().map(|(_, stored)| stored.approval.id).collect();
        assert_eq!(expired, [readable]);
        assert_eq!(store.org(org).count_pending_approvals(None).await.unwrap(), 1);
    }
}
