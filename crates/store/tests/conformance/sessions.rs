//! What turns start from, takeovers, and side effects of turns.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{
    AgentId, AuditId, InboxId, MessageId, NoticeId, OutboxId, RunId, SessionId,
};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::{Timestamp, Window};
use ostler_store::{
    Author, ClaimedConversation, CommitOutcome, CounterIncrement, FollowUpEntry, NewAuditEntry,
    NewEvent, NewMessage, NewNotice, NewOutboxEntry, NewRun, OperatorChange, OutboxState,
    SessionDue, SessionFilter, SessionState, Store, StoreError, TurnCommit, TurnSideEffects,
};
use ostler_testkit::claim_send;

use crate::on_every_backend;
use crate::support::{accept, claim, next, turn, with_org};

/// Later than every due time of these tests.
const LATER: Timestamp = Timestamp::from_millis(1000);

/// A takeover that sends this text.
pub(crate) async fn takeover_change(
    store: &Store,
    claimed: &ClaimedConversation,
    text: &str,
) -> OperatorChange {
    let commit = turn(claimed);
    let of = store.org(claimed.lease.org());
    let read = of.newest_session(claimed.lease.conversation()).await.unwrap().unwrap();
    let data = format!("{{\"text\":\"{text}\"}}");
    OperatorChange {
        read,
        session: SessionState {
            status: "handed_off".into(),
            data: "{\"human\":true}".into(),
            ..commit.session
        },
        due: SessionDue::At(Timestamp::from_millis(1)),
        run: NewRun { id: RunId::from_u128(next()), data: "{}".into(), harness: None },
        messages: vec![NewMessage { id: MessageId::from_u128(next()), data: data.clone() }],
        outbox: vec![NewOutboxEntry {
            binding: None,
            id: OutboxId::from_u128(next()),
            author: Author::Human,
            payload: data,
        }],
        events: vec![NewEvent { kind: "taken_over".into(), data: "{}".into() }],
        inbox: vec![],
        audit: NewAuditEntry {
            id: AuditId::from_u128(next()),
            actor: AuditActor::System,
            action: "take_over".into(),
            subject: "ses".into(),
            data: "{}".into(),
        },
    }
}

on_every_backend!(a_turn_starts_from_the_newest_session_and_its_last_message);
async fn a_turn_starts_from_the_newest_session_and_its_last_message(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let nothing = store.turn_start(claimed.lease).await.unwrap();
    assert_eq!((nothing.session, nothing.last_seq), (None, 0));
    let commit = turn(&claimed);
    store.commit_turn(&commit).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    let claimed = claim(store).await.unwrap();
    let begin = store.turn_start(claimed.lease).await.unwrap();
    let session = begin.session.unwrap();
    assert_eq!((session.id, session.status.as_str()), (commit.session.id, "active"));
    assert_eq!(begin.last_seq, 2);
    let last = store.org(org).thread_for_turn(session.thread, 1).await.unwrap();
    assert_eq!(last.iter().map(|one| one.seq).collect::<Vec<_>>(), [2], "the last of them");
    assert_eq!(store.org(org).session(session.id).await.unwrap(), session);
    let runs = store.org(org).runs(session.id, None, 10).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [commit.run.id]);
    assert_eq!(store.org(org).run(commit.run.id).await.unwrap(), runs[0]);
    let other = with_org(store, 2).await;
    assert_eq!(store.org(other).runs(session.id, None, 10).await.unwrap(), []);
    for missing in [
        store.org(other).session(session.id).await.err(),
        store.org(other).run(commit.run.id).await.err(),
    ] {
        assert!(matches!(missing, Some(StoreError::NotFound(_))), "A05: not of this org");
    }
}

on_every_backend!(
    /// Z13: the runs of the last days are listed with their sessions, newest first, in
    /// pages, and only those of the org.
    z13_recent_runs_are_listed_by_time
);
async fn z13_recent_runs_are_listed_by_time(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let id = |millis: u128| RunId::from_u128(millis << 80 | 7);
    for millis in [1_000, 2_000, 3_000] {
        accept(store, org, "rosa", &format!("m{millis}")).await;
        let claimed = claim(store).await.unwrap();
        let mut commit = turn(&claimed);
        commit.run.id = id(millis);
        store.commit_turn(&commit).await.unwrap();
    }
    let runs = async |org, since, before, limit| {
        let since = Timestamp::from_millis(since);
        let found = store.org(org).recent_runs(since, before, limit).await.unwrap();
        let has_session = found.iter().all(|recent| recent.session_data.starts_with('{'));
        assert!(has_session, "{found:?}");
        found.into_iter().map(|recent| recent.run.id).collect::<Vec<_>>()
    };
    assert_eq!(runs(org, 0, None, 9).await, [3_000, 2_000, 1_000].map(id));
    assert_eq!(runs(org, 2_000, None, 9).await, [3_000, 2_000].map(id));
    assert_eq!(runs(org, 0, None, 1).await, [3_000].map(id));
    assert_eq!(runs(org, 0, Some(id(3_000)), 1).await, [2_000].map(id));
    assert_eq!(runs(org, 3_001, None, 9).await, []);
    assert_eq!(runs(other, 0, None, 9).await, []);
}

on_every_backend!(
    /// A01: what the harnesses of runs share is stored once in each org, and read with each run.
    a01_what_runs_share_is_read_with_each_of_them
);
async fn a01_what_runs_share_is_read_with_each_of_them(store: &Store) {
    let orgs = [with_org(store, 1).await, with_org(store, 2).await];
    let shared = [Some("[1]"), Some("[1]"), None, Some("[2]")];
    for (number, harness) in shared.iter().enumerate() {
        for org in orgs {
            accept(store, org, "rosa", &format!("m{number}")).await;
            let claimed = claim(store).await.unwrap();
            let mut commit = turn(&claimed);
            commit.run.harness = harness.map(str::to_owned);
            store.commit_turn(&commit).await.unwrap();
        }
    }
    for org in orgs {
        let of = store.org(org);
        let session = of.sessions(SessionFilter::All, None, 1).await.unwrap().remove(0).id;
        let runs = of.runs(session, None, 9).await.unwrap();
        let harnesses = runs.iter().rev().map(|run| run.harness.as_deref());
        assert_eq!(harnesses.collect::<Vec<_>>(), shared);
        for run in &runs {
            assert_eq!(of.run(run.id).await.unwrap(), *run);
        }
        let recent = of.recent_runs(Timestamp::from_millis(0), None, 9).await.unwrap();
        assert_eq!(recent.into_iter().map(|recent| recent.run).collect::<Vec<_>>(), runs);
    }
}

on_every_backend!(
    /// Z08: a takeover needs no lease. Messages of agents are withdrawn, a running turn
    /// does not overwrite the session, and the second of two takeovers is refused.
    z08_a_takeover_during_a_turn_withdraws_its_replies
);
async fn z08_a_takeover_during_a_turn_withdraws_its_replies(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let first = turn(&claimed);
    let (unsent, session) = (first.outbox[0].id, first.session.id);
    store.commit_turn(&first).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    let claimed = claim(store).await.unwrap();

    let step = takeover_change(store, &claimed, "hello, this is Ada").await;
    let withdrawn = store.org(org).apply_operator_change(step.clone()).await.unwrap();
    assert_eq!(withdrawn.withdrawn, 1);
    assert_eq!(store.org(org).outbox_state(unsent).await.unwrap(), OutboxState::Withdrawn);
    let again = store.org(org).apply_operator_change(step).await;
    assert!(matches!(again, Err(StoreError::ConversationChanged)), "{again:?}");

    let late = turn(&claimed);
    let agents = late.outbox[0].id;
    let refused = store.commit_turn(&late).await;
    assert!(matches!(refused, Err(StoreError::ConversationChanged)), "{refused:?}");
    let stored = store.org(org).session(session).await.unwrap();
    assert_eq!((stored.data.as_str(), stored.epoch), ("{\"human\":true}", 1));
    // Computed again, the session has the person's message and the turn's cost.
    let data = "{\"human\":true,\"spent\":1}".to_owned();
    let retried =
        SessionState { status: stored.status, data: data.clone(), ..late.session.clone() };
    let late = TurnCommit { read_epoch: stored.epoch, session: retried, ..late };
    assert_eq!(store.commit_turn(&late).await.unwrap(), CommitOutcome::RepliesWithdrawn);
    assert_eq!(store.org(org).session(session).await.unwrap().data, data);
    assert_eq!(store.org(org).outbox_state(agents).await.unwrap(), OutboxState::Withdrawn);
    let waiting = store.org(org).sessions(SessionFilter::HandedOff, None, 10).await.unwrap();
    assert_eq!(waiting.len(), 1);
    let sent = claim_send(store, std::time::Duration::from_secs(9)).await.unwrap();
    assert!(sent.payload.contains("this is Ada"), "what the person wrote goes out");
    let due = store.due_sessions(LATER, None, 10).await.unwrap();
    assert_eq!(due.iter().map(|one| one.id).collect::<Vec<_>>(), [session]);
    let audit = store.org(org).audit_entries(Some("ses"), None, 10).await.unwrap();
    assert_eq!(audit.len(), 1);
}

on_every_backend!(a_takeover_can_add_an_entry_for_the_agent);
async fn a_takeover_can_add_an_entry_for_the_agent(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.commit_turn(&turn(&claimed)).await.unwrap();
    let mut step = takeover_change(store, &claimed, "over to you").await;
    step.inbox = vec![FollowUpEntry {
        id: InboxId::from_u128(next()),
        provider_id: "go_on".into(),
        payload: "{\"text\":\"go_on\"}".into(),
    }];
    step.due = SessionDue::Never;
    store.org(org).apply_operator_change(step).await.unwrap();
    let later = claim(store).await.unwrap();
    assert_eq!(later.lease.conversation(), claimed.lease.conversation());
    assert!(later.messages[0].payload.contains("go_on"));
    assert!(store.due_sessions(LATER, None, 10).await.unwrap().is_empty());
}

on_every_backend!(side_effects_are_committed_with_the_turn);
async fn side_effects_are_committed_with_the_turn(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.commit_turn(&turn(&claimed)).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    let claimed = claim(store).await.unwrap();
    let old = turn(&claimed).session;
    let closed = SessionState { status: "closed".into(), data: "{\"over\":1}".into(), ..old };
    let new = SessionState { id: SessionId::from_u128(next()), ..turn(&claimed).session };
    let notice = |subject: &str| NewNotice {
        id: NoticeId::from_u128(next()),
        kind: NoticeKind::ToolDisabled,
        recipient: NoticeRecipient::Owner,
        subject: subject.into(),
        data: "{}".into(),
    };
    let org_store = store.org(org);
    let agent = AgentId::from_u128(next());
    let unread = NewNotice { recipient: NoticeRecipient::Agent(agent), ..notice("list_forms") };
    let notice_id = unread.id;
    org_store.notify(unread.clone()).await.unwrap();
    let counters = ["messages", "cost", "messages:of rosa"];
    let day = org_store.agent_daily_usage(agent, counters, 10).await.unwrap();
    assert_eq!(day.counters.map(|one| one.used), [0, 0, 0]);
    assert_eq!(day.notices.iter().map(|one| &one.notice).collect::<Vec<_>>(), [&unread]);
    let side_effects = TurnSideEffects {
        proposals: Vec::new(),
        audit: vec![],
        closed_session: Some(closed.clone()),
        session_due: Some(SessionDue::At(Timestamp::from_millis(1))),
        approvals: Vec::new(),
        notices: vec![notice("web_fetch"), notice("web_fetch")],
        read_notices: vec![notice_id],
        counts: vec![CounterIncrement {
            counter: "messages".into(),
            window: Window::Day,
            amount: 2,
        }],
        refusals: vec![],
        shared_records: vec![],
    };
    let commit = TurnCommit { session: new.clone(), side_effects, ..turn(&claimed) };
    store.commit_turn(&commit).await.unwrap();
    let day = org_store.agent_daily_usage(agent, counters, 10).await.unwrap();
    assert_eq!((day.counters.map(|one| one.used), day.notices), ([2, 0, 0], Vec::new()));
    assert_eq!(org_store.session(closed.id).await.unwrap().status, "closed");
    let due = store.due_sessions(LATER, None, 10).await.unwrap();
    assert_eq!(due.iter().map(|one| one.id).collect::<Vec<_>>(), [new.id]);
    assert_eq!(org_store.counter_usage("messages", Window::Day).await.unwrap().used, 2);
    let unread = org_store.unread_notices(NoticeRecipient::Owner, None, 10).await.unwrap();
    assert_eq!(unread.len(), 1, "the same is not said twice");
}

on_every_backend!(
    /// O26, O28: a conversation is leased while a worker has it, and an answered entry names
    /// its run.
    o28_a_conversation_is_leased_until_its_entry_is_answered
);
async fn o28_a_conversation_is_leased_until_its_entry_is_answered(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let (conversation, binding) = (claimed.lease.conversation(), claimed.key.binding);
    assert!(store.org(org).is_leased(conversation).await.unwrap());
    assert!(!store.org(other).is_leased(conversation).await.unwrap());
    assert_eq!(store.org(org).answering_run(binding, "m1").await.unwrap(), None);
    let commit = turn(&claimed);
    store.commit_turn(&commit).await.unwrap();
    assert!(!store.org(org).is_leased(conversation).await.unwrap());
    let run = store.org(org).answering_run(binding, "m1").await.unwrap();
    assert_eq!(run, Some(commit.run.id));
    assert_eq!(store.org(other).answering_run(binding, "m1").await.unwrap(), None);
}
