//! The outbox: order, retries, unknown outcomes, and silence on takeover.

use std::time::Duration;

use ostler_domain::id::OutboxId;
use ostler_store::{
    AfterTurn, Author, Committed, Delivery, NewOutbound, Outbound, OutboxState, Store, TurnCommit,
};

use crate::on_every_backend;
use crate::world::{POLICY, accept, claim, next, overtaken, said, turn, with_org};

const SENDING: Duration = Duration::from_secs(30);

async fn take(store: &Store) -> Option<Outbound> {
    store.claim_outbox(SENDING).await.expect("claiming works")
}

/// A conversation whose turn sends this many messages.
async fn replies(store: &Store, person: &str, count: usize, author: Author) -> Vec<OutboxId> {
    let claimed = {
        let org = store.orgs().await.unwrap()[0].id;
        accept(store, org, person, person).await;
        claim(store).await.unwrap()
    };
    let mut commit = turn(&claimed);
    commit.outbox = (0..count)
        .map(|n| NewOutbound {
            id: OutboxId::from_u128(next()),
            author,
            payload: format!("{person}{n}"),
        })
        .collect();
    let ids = commit.outbox.iter().map(|sent| sent.id).collect();
    store.commit_turn(commit).await.unwrap();
    ids
}

on_every_backend!(messages_of_a_conversation_go_out_in_order);
async fn messages_of_a_conversation_go_out_in_order(store: &Store) {
    let org = with_org(store, 1).await;
    replies(store, "rosa", 2, Author::Agent).await;
    replies(store, "otto", 1, Author::Agent).await;
    let rosa = take(store).await.unwrap();
    let otto = take(store).await.unwrap();
    assert_eq!((rosa.payload.as_str(), otto.payload.as_str()), ("rosa0", "otto0"));
    assert!(take(store).await.is_none(), "rosa1 waits for rosa0");
    let wait = Delivery::RetryAfter(Duration::from_secs(60));
    store.org(org).record_delivery(&rosa, wait).await.unwrap();
    assert!(take(store).await.is_none(), "rosa0 is due later and still first");
    store.org(org).record_delivery(&otto, Delivery::Sent).await.unwrap();
    let twice = store.org(org).record_delivery(&otto, Delivery::Sent).await;
    assert!(twice.is_err(), "what was sent stays sent");
}

on_every_backend!(a_dead_message_steps_aside);
async fn a_dead_message_steps_aside(store: &Store) {
    let org = with_org(store, 1).await;
    replies(store, "rosa", 2, Author::Agent).await;
    let first = take(store).await.unwrap();
    let dead = Delivery::Dead("blocked by the user".into());
    store.org(org).record_delivery(&first, dead).await.unwrap();
    assert_eq!(take(store).await.unwrap().payload, "rosa1");
    assert_eq!(store.org(org).outbox_state(first.id).await.unwrap(), OutboxState::Dead);
}

on_every_backend!(
    /// Z09: a sender that never reports leaves an unknown outcome, which a late
    /// word settles.
    z09_a_forgotten_send_is_unknown
);
async fn z09_a_forgotten_send_is_unknown(store: &Store) {
    let org = with_org(store, 1).await;
    replies(store, "rosa", 2, Author::Agent).await;
    let first = store.claim_outbox(Duration::from_millis(1)).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(store.sweep_outbox().await.unwrap(), 1);
    assert_eq!(take(store).await.unwrap().payload, "rosa1", "it does not hold the next one up");
    assert_eq!(store.org(org).outbox_state(first.id).await.unwrap(), OutboxState::Unknown);
    let again = Delivery::RetryAfter(Duration::ZERO);
    assert!(store.org(org).record_delivery(&first, again).await.is_err(), "nobody knows");
    store.org(org).record_delivery(&first, Delivery::Sent).await.unwrap();
    assert_eq!(store.org(org).outbox_state(first.id).await.unwrap(), OutboxState::Sent);
}

on_every_backend!(
    /// Z08: from the takeover's commit on no agent's message is claimed; what is
    /// in flight is shown.
    z08_taking_over_silences_the_agents
);
async fn z08_taking_over_silences_the_agents(store: &Store) {
    let org = with_org(store, 1).await;
    let ids = replies(store, "rosa", 2, Author::Agent).await;
    let flying = take(store).await.unwrap();
    let silenced = store.org(org).silence_agents(flying.conversation).await.unwrap();
    assert_eq!((silenced.withdrawn, silenced.in_flight), (1, vec![ids[0]]));
    let later = Delivery::RetryAfter(Duration::ZERO);
    store.org(org).record_delivery(&flying, later).await.unwrap();
    for id in ids {
        assert_eq!(store.org(org).outbox_state(id).await.unwrap(), OutboxState::Withdrawn);
    }
    accept(store, org, "rosa", "are you there?").await;
    let claimed = claim(store).await.unwrap();
    let mut operator = turn(&claimed);
    operator.outbox[0].author = Author::Human;
    store.commit_turn(operator).await.unwrap();
    assert!(take(store).await.is_some(), "people are heard in the same conversation");
}

on_every_backend!(
    /// Z08: a turn that a takeover overtakes is on record and sends nothing.
    z08_a_turn_that_is_overtaken_sends_nothing
);
async fn z08_a_turn_that_is_overtaken_sends_nothing(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let mut claimed = claim(store).await.unwrap();
    store.commit_turn(TurnCommit { then: AfterTurn::Keep, ..turn(&claimed) }).await.unwrap();
    let first = take(store).await.unwrap();
    store.org(org).record_delivery(&first, Delivery::Sent).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    claimed.messages = store.more_messages(claimed.lease, POLICY).await.unwrap();
    store.org(org).silence_agents(claimed.lease.conversation()).await.unwrap();
    let late = overtaken(turn(&claimed));
    let id = late.outbox[0].id;
    assert_eq!(store.commit_turn(late).await.unwrap(), Committed::Overtaken);
    assert_eq!(store.org(org).outbox_state(id).await.unwrap(), OutboxState::Withdrawn);
    assert!(take(store).await.is_none());
}

on_every_backend!(
    /// Z08: a takeover before the first turn of a conversation is committed
    /// overtakes it, though its session is new.
    z08_a_first_turn_is_overtaken_as_well
);
async fn z08_a_first_turn_is_overtaken_as_well(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.org(org).silence_agents(claimed.lease.conversation()).await.unwrap();
    let late = overtaken(turn(&claimed));
    let id = late.outbox[0].id;
    assert_eq!(store.commit_turn(late.clone()).await.unwrap(), Committed::Overtaken);
    assert_eq!(store.commit_turn(late).await.unwrap(), Committed::Before);
    assert_eq!(store.org(org).outbox_state(id).await.unwrap(), OutboxState::Withdrawn);
    assert_eq!(said(store, &claimed).await.len(), 2, "the turn is on record");
    assert!(take(store).await.is_none());
}

on_every_backend!(
    /// Z08: a turn that begins after a person has stepped in and handed back is
    /// heard, though its worker has claimed the conversation before that.
    z08_a_turn_that_begins_after_a_takeover_is_sent
);
async fn z08_a_turn_that_begins_after_a_takeover_is_sent(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.org(org).silence_agents(claimed.lease.conversation()).await.unwrap();
    let epoch = claimed.lease.epoch() + 1;
    let later = TurnCommit { began: epoch, read: epoch, ..turn(&claimed) };
    assert_eq!(store.commit_turn(later).await.unwrap(), Committed::Whole);
    assert!(take(store).await.is_some());
}
