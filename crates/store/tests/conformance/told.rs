//! What a person outside reads of their conversation.

use std::time::Duration;

use ostler_domain::id::{BlobId, OrgId, SessionId, ThreadId};
use ostler_domain::session::key::ConversationKey;
use ostler_store::{
    Claimed, Delivery, EventCursor, ReadFrom, SessionEnd, Store, TalkPlace, Told, TurnCommit,
};

use crate::on_every_backend;
use crate::world::{accept, claim, message, next, turn, with_org};

fn key(org: OrgId) -> ConversationKey {
    message(org, "rosa", "").key
}

async fn told(store: &Store, org: OrgId, from: ReadFrom) -> Told {
    store.org(org).told(&key(org), from, 3).await.unwrap().expect("it has begun")
}

fn texts(told: &Told) -> Vec<&str> {
    told.messages.iter().map(|(_, message)| message.data.as_str()).collect()
}

async fn send(store: &Store, org: OrgId) {
    let row = store.claim_outbox(Duration::from_secs(30)).await.unwrap().unwrap();
    store.org(org).record_delivery(&row, Delivery::Sent).await.unwrap();
}

/// A turn in a session of its own.
fn in_session(claimed: &Claimed, number: u128) -> TurnCommit {
    let mut turn = turn(claimed);
    turn.session.id = SessionId::from_u128(number);
    turn.session.thread = ThreadId::from_u128(number);
    turn
}

on_every_backend!(one_session_is_read_after_the_other);
async fn one_session_is_read_after_the_other(store: &Store) {
    let org = with_org(store, 1).await;
    let nothing = store.org(org).told(&key(org), ReadFrom::Newest, 3).await.unwrap();
    assert_eq!(nothing, None);
    let sessions = [next(), next()];
    for (number, id) in sessions.into_iter().zip(["m1", "m2"]) {
        accept(store, org, "rosa", id).await;
        let claimed = claim(store).await.unwrap();
        let mut commit = in_session(&claimed, number);
        commit.session.status = if id == "m1" { "closed".into() } else { "active".into() };
        store.commit_turn(commit).await.unwrap();
        let told = told(store, org, ReadFrom::Newest).await;
        assert_eq!(told.unsent, [r#"{"text":"reply"}"#], "it is not the visitor's yet");
        send(store, org).await;
    }
    let newest = told(store, org, ReadFrom::Newest).await;
    assert_eq!(newest.session, Some((SessionId::from_u128(sessions[1]), SessionEnd::Open)));
    assert_eq!(texts(&newest), [r#"{"text":"m2"}"#, r#"{"text":"reply"}"#]);
    assert_eq!((newest.unsent.len(), newest.withdrawn.len()), (0, 0));
    let first = TalkPlace { session: SessionId::from_u128(sessions[0]), seq: 1 };
    let rest = told(store, org, ReadFrom::Behind(first)).await;
    let expected = [r#"{"text":"reply"}"#, r#"{"text":"m2"}"#, r#"{"text":"reply"}"#];
    assert_eq!(texts(&rest), expected);
    let last = rest.messages.last().unwrap().0;
    assert_eq!(texts(&told(store, org, ReadFrom::Behind(last)).await), [""; 0]);
    let other = with_org(store, 2).await;
    assert_eq!(store.org(other).told(&key(other), ReadFrom::Newest, 3).await.unwrap(), None);
    assert!(!store.org(org).is_blob_of(&key(org), BlobId::from_u128(1)).await.unwrap());
}

on_every_backend!(
    /// Z08: what an agent wrote and nobody had sent when a person took over is
    /// known to be withdrawn.
    z08_what_was_withdrawn_is_told_apart
);
async fn z08_what_was_withdrawn_is_told_apart(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.commit_turn(turn(&claimed)).await.unwrap();
    store.org(org).silence_agents(claimed.lease.conversation()).await.unwrap();
    let told = told(store, org, ReadFrom::Newest).await;
    assert_eq!(told.withdrawn, [r#"{"text":"reply"}"#]);
    assert_eq!(told.unsent, [""; 0]);
}

on_every_backend!(whoever_begins_at_the_end_sees_what_comes);
async fn whoever_begins_at_the_end_sees_what_comes(store: &Store) {
    let org = with_org(store, 1).await;
    let empty = store.org(org).end_of_events().await.unwrap();
    assert_eq!(empty, EventCursor::default());
    for id in ["m1", "m2"] {
        accept(store, org, "rosa", id).await;
        let claimed = claim(store).await.unwrap();
        store.commit_turn(turn(&claimed)).await.unwrap();
    }
    let all = loop {
        let all = store.org(org).events_after(empty, 10).await.unwrap();
        if all.len() == 2 {
            break all;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let end = store.org(org).end_of_events().await.unwrap();
    assert_eq!(end, all[1].cursor);
    assert_eq!(store.org(org).events_after(end, 10).await.unwrap(), []);
}
