//! Sessions as workers begin with them, and people who step in.

use ostler_domain::audit::Actor;
use ostler_domain::id::{
    AgentId, AuditId, InboxId, MessageId, NoticeId, OutboxId, RunId, SessionId,
};
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_domain::time::{Timestamp, Window};
use ostler_store::{
    Aside, Author, Claimed, Committed, Count, Due, GoesOn, Intervention, NewAudit, NewEvent,
    NewMessage, NewNotice, NewOutbound, NewRun, OutboxState, SessionState, Store, StoreError,
    TurnCommit, Which,
};

use crate::on_every_backend;
use crate::world::{accept, agent, claim, next, turn, with_org};

/// After all that is due in these tests.
const LATER: Timestamp = Timestamp::from_millis(1000);

/// A person takes the conversation over and says this.
async fn intervention(store: &Store, claimed: &Claimed, text: &str) -> Intervention {
    let commit = turn(claimed);
    let of = store.org(claimed.lease.org());
    let read = of.newest_session(claimed.lease.conversation()).await.unwrap().unwrap();
    let data = format!("{{\"text\":\"{text}\"}}");
    Intervention {
        read,
        session: SessionState {
            status: "handed_off".into(),
            data: "{\"human\":true}".into(),
            ..commit.session
        },
        due: Due::At(Timestamp::from_millis(1)),
        run: NewRun { id: RunId::from_u128(next()), data: "{}".into() },
        messages: vec![NewMessage { id: MessageId::from_u128(next()), data: data.clone() }],
        outbox: vec![NewOutbound {
            id: OutboxId::from_u128(next()),
            author: Author::Human,
            payload: data,
        }],
        events: vec![NewEvent { kind: "taken_over".into(), data: "{}".into() }],
        inbox: vec![],
        audit: NewAudit {
            id: AuditId::from_u128(next()),
            actor: Actor::System,
            action: "take_over".into(),
            subject: "ses".into(),
            data: "{}".into(),
        },
    }
}

on_every_backend!(a_worker_begins_with_the_newest_session_and_its_end);
async fn a_worker_begins_with_the_newest_session_and_its_end(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let nothing = store.begin_turn(claimed.lease).await.unwrap();
    assert_eq!((nothing.session, nothing.last_message), (None, 0));
    let commit = turn(&claimed);
    store.commit_turn(commit.clone()).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    let claimed = claim(store).await.unwrap();
    let begin = store.begin_turn(claimed.lease).await.unwrap();
    let session = begin.session.unwrap();
    assert_eq!((session.id, session.status.as_str()), (commit.session.id, "active"));
    assert_eq!(begin.last_message, 2);
    let last = store.org(org).thread_so_far(session.thread, 1).await.unwrap();
    assert_eq!(last.iter().map(|one| one.seq).collect::<Vec<_>>(), [2], "the last of them");
    assert_eq!(store.org(org).session(session.id).await.unwrap(), session);
    let runs = store.org(org).runs(session.id, None, 10).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [commit.run.id]);
    assert_eq!(store.org(org).run(commit.run.id).await.unwrap(), runs[0]);
    let other = with_org(store, 2).await;
    for missing in [
        store.org(other).session(session.id).await.err(),
        store.org(other).run(commit.run.id).await.err(),
    ] {
        assert!(matches!(missing, Some(StoreError::NotFound(_))), "A05: not of this org");
    }
}

on_every_backend!(the_stamp_grows_with_the_configuration);
async fn the_stamp_grows_with_the_configuration(store: &Store) {
    let org = with_org(store, 1).await;
    let before = store.config_stamp().await.unwrap();
    store.org(org).save_agent(agent(org, "gia")).await.unwrap();
    let agents = store.config_stamp().await.unwrap();
    assert!(agents > before);
    let id = ostler_domain::id::RecordId::from_u128(7);
    store.org(org).create_record("order", id, "{}".into()).await.unwrap();
    assert_eq!(store.config_stamp().await.unwrap(), agents, "orders are no configuration");
    store.org(org).create_record("settings", id, "{}".into()).await.unwrap();
    assert!(store.config_stamp().await.unwrap() > agents);
}

on_every_backend!(
    /// Z08: a person steps in without the lease. What agents wrote is withdrawn,
    /// a turn that was under way does not change the session back, and of two
    /// people who step in at the same time the second looks again.
    z08_a_person_steps_in_between
);
async fn z08_a_person_steps_in_between(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let first = turn(&claimed);
    let (unsent, session) = (first.outbox[0].id, first.session.id);
    store.commit_turn(first).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    let claimed = claim(store).await.unwrap();

    let step = intervention(store, &claimed, "hello, this is Ada").await;
    let silenced = store.org(org).intervene(step.clone()).await.unwrap();
    assert_eq!(silenced.withdrawn, 1);
    assert_eq!(store.org(org).outbox_state(unsent).await.unwrap(), OutboxState::Withdrawn);
    let again = store.org(org).intervene(step).await;
    assert!(matches!(again, Err(StoreError::Moved)), "{again:?}");

    let late = turn(&claimed);
    let agents = late.outbox[0].id;
    let refused = store.commit_turn(late.clone()).await;
    assert!(matches!(refused, Err(StoreError::Moved)), "{refused:?}");
    let stored = store.org(org).session(session).await.unwrap();
    assert_eq!((stored.data.as_str(), stored.epoch), ("{\"human\":true}", 1));
    // Worked out anew, it says what the person has said and what the turn cost.
    let data = "{\"human\":true,\"spent\":1}".to_owned();
    let anew = SessionState { status: stored.status, data: data.clone(), ..late.session.clone() };
    let late = TurnCommit { read: stored.epoch, session: anew, ..late };
    assert_eq!(store.commit_turn(late).await.unwrap(), Committed::Overtaken);
    assert_eq!(store.org(org).session(session).await.unwrap().data, data);
    assert_eq!(store.org(org).outbox_state(agents).await.unwrap(), OutboxState::Withdrawn);
    let waiting = store.org(org).sessions(Which::HandedOff, None, 10).await.unwrap();
    assert_eq!(waiting.len(), 1);
    let sent = store.claim_outbox(std::time::Duration::from_secs(9)).await.unwrap().unwrap();
    assert!(sent.payload.contains("this is Ada"), "what the person wrote goes out");
    let due = store.due_sessions(LATER, None, 10).await.unwrap();
    assert_eq!(due.iter().map(|one| one.id).collect::<Vec<_>>(), [session]);
    let audit = store.org(org).audit(Some("ses"), None, 10).await.unwrap();
    assert_eq!(audit.len(), 1);
}

on_every_backend!(a_person_who_steps_in_can_have_the_agent_go_on);
async fn a_person_who_steps_in_can_have_the_agent_go_on(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.commit_turn(turn(&claimed)).await.unwrap();
    let mut step = intervention(store, &claimed, "over to you").await;
    step.inbox = vec![GoesOn {
        id: InboxId::from_u128(next()),
        provider_id: "go_on".into(),
        payload: "{\"text\":\"go_on\"}".into(),
    }];
    step.due = Due::Never;
    store.org(org).intervene(step).await.unwrap();
    let later = claim(store).await.unwrap();
    assert_eq!(later.lease.conversation(), claimed.lease.conversation());
    assert!(later.messages[0].payload.contains("go_on"));
    assert!(store.due_sessions(LATER, None, 10).await.unwrap().is_empty());
}

on_every_backend!(a_turn_changes_what_is_beside_the_conversation);
async fn a_turn_changes_what_is_beside_the_conversation(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.commit_turn(turn(&claimed)).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    let claimed = claim(store).await.unwrap();
    let old = turn(&claimed).session;
    let closed = SessionState { status: "closed".into(), data: "{\"over\":1}".into(), ..old };
    let new = SessionState { id: SessionId::from_u128(next()), ..turn(&claimed).session };
    let notice = |subject: &str| NewNotice {
        id: NoticeId::from_u128(next()),
        kind: NoticeKind::ToolDisabled,
        recipient: Recipient::Owner,
        subject: subject.into(),
        data: "{}".into(),
    };
    let org_store = store.org(org);
    let agent = AgentId::from_u128(next());
    let told = NewNotice { recipient: Recipient::Agent(agent), ..notice("list_forms") };
    let heard = told.id;
    org_store.notify(told.clone()).await.unwrap();
    let counters = ["messages", "cost"];
    let day = org_store.agent_day(agent, counters, 10).await.unwrap();
    assert_eq!(day.counted.map(|one| one.used), [0, 0]);
    assert_eq!(day.notices.iter().map(|one| &one.notice).collect::<Vec<_>>(), [&told]);
    let aside = Aside {
        closes: Some(closed.clone()),
        due: Some(Due::At(Timestamp::from_millis(1))),
        approvals: Vec::new(),
        notices: vec![notice("web_fetch"), notice("web_fetch")],
        read: vec![heard],
        counts: vec![Count { what: "messages".into(), window: Window::Day, amount: 2 }],
    };
    let commit = TurnCommit { session: new.clone(), aside, ..turn(&claimed) };
    store.commit_turn(commit).await.unwrap();
    let day = org_store.agent_day(agent, counters, 10).await.unwrap();
    assert_eq!((day.counted.map(|one| one.used), day.notices), ([2, 0], Vec::new()));
    assert_eq!(org_store.session(closed.id).await.unwrap().status, "closed");
    let due = store.due_sessions(LATER, None, 10).await.unwrap();
    assert_eq!(due.iter().map(|one| one.id).collect::<Vec<_>>(), [new.id]);
    assert_eq!(org_store.counted("messages", Window::Day).await.unwrap().used, 2);
    let unread = org_store.unread_notices(Recipient::Owner, None, 10).await.unwrap();
    assert_eq!(unread.len(), 1, "the same is not said twice");
}
