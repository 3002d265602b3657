//! The transcript of a conversation.

use std::time::Duration;

use ostler_domain::id::{BlobId, OrgId, SessionId, ThreadId};
use ostler_domain::session::key::ConversationKey;
use ostler_store::{
    ClaimedConversation, EventCursor, OutboxDelivery, SessionPhase, Store, Transcript,
    TranscriptCursor, TranscriptStart, TurnCommit,
};
use ostler_testkit::claim_send;

use crate::on_every_backend;
use crate::support::{accept, claim, message, next, turn, with_org};

fn key(org: OrgId) -> ConversationKey {
    message(org, "rosa", "").key
}

async fn transcript(store: &Store, org: OrgId, from: TranscriptStart) -> Transcript {
    store.org(org).transcript(&key(org), from, 3).await.unwrap().expect("it has begun")
}

fn texts(page: &Transcript) -> Vec<&str> {
    page.messages.iter().map(|(_, message)| message.data.as_str()).collect()
}

async fn send(store: &Store, org: OrgId) {
    let row = claim_send(store, Duration::from_secs(30)).await.unwrap();
    store.org(org).record_delivery(&row, OutboxDelivery::Sent).await.unwrap();
}

/// A turn in a new session.
fn in_session(claimed: &ClaimedConversation, number: u128) -> TurnCommit {
    let mut turn = turn(claimed);
    turn.session.id = SessionId::from_u128(number);
    turn.session.thread = ThreadId::from_u128(number);
    turn
}

on_every_backend!(the_transcript_contains_the_sessions_in_order);
async fn the_transcript_contains_the_sessions_in_order(store: &Store) {
    let org = with_org(store, 1).await;
    let nothing = store.org(org).transcript(&key(org), TranscriptStart::Newest, 3).await.unwrap();
    assert_eq!(nothing, None);
    let sessions = [next(), next()];
    for (number, id) in sessions.into_iter().zip(["m1", "m2"]) {
        accept(store, org, "rosa", id).await;
        let claimed = claim(store).await.unwrap();
        let mut commit = in_session(&claimed, number);
        commit.session.status = if id == "m1" { "closed".into() } else { "active".into() };
        store.commit_turn(&commit).await.unwrap();
        let page = transcript(store, org, TranscriptStart::Newest).await;
        assert_eq!(page.unsent, [r#"{"text":"reply"}"#], "it is not the visitor's yet");
        send(store, org).await;
    }
    let newest = transcript(store, org, TranscriptStart::Newest).await;
    assert_eq!(newest.session, Some((SessionId::from_u128(sessions[1]), SessionPhase::Open)));
    assert_eq!(texts(&newest), [r#"{"text":"m2"}"#, r#"{"text":"reply"}"#]);
    assert_eq!((newest.unsent.len(), newest.withdrawn.len()), (0, 0));
    let first = TranscriptCursor { session: SessionId::from_u128(sessions[0]), seq: 1 };
    let rest = transcript(store, org, TranscriptStart::After(first)).await;
    let expected = [r#"{"text":"reply"}"#, r#"{"text":"m2"}"#, r#"{"text":"reply"}"#];
    assert_eq!(texts(&rest), expected);
    let last = rest.messages.last().unwrap().0;
    assert_eq!(texts(&transcript(store, org, TranscriptStart::After(last)).await), [""; 0]);
    let other = with_org(store, 2).await;
    assert_eq!(
        store.org(other).transcript(&key(other), TranscriptStart::Newest, 3).await.unwrap(),
        None
    );
    assert!(!store.org(org).conversation_uses_blob(&key(org), BlobId::from_u128(1)).await.unwrap());
}

on_every_backend!(
    /// Z08: unsent messages of an agent are listed as withdrawn after a takeover.
    z08_the_transcript_lists_withdrawn_messages_separately
);
async fn z08_the_transcript_lists_withdrawn_messages_separately(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.commit_turn(&turn(&claimed)).await.unwrap();
    store.org(org).withdraw_agent_messages(claimed.lease.conversation()).await.unwrap();
    let page = transcript(store, org, TranscriptStart::Newest).await;
    assert_eq!(page.withdrawn, [r#"{"text":"reply"}"#]);
    assert_eq!(page.unsent, [""; 0]);
}

on_every_backend!(reading_from_the_end_returns_later_messages);
async fn reading_from_the_end_returns_later_messages(store: &Store) {
    let org = with_org(store, 1).await;
    let empty = store.org(org).end_of_events().await.unwrap();
    assert_eq!(empty, EventCursor::default());
    for id in ["m1", "m2"] {
        accept(store, org, "rosa", id).await;
        let claimed = claim(store).await.unwrap();
        store.commit_turn(&turn(&claimed)).await.unwrap();
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
