//! The outbox: order, retries, unknown outcomes, withdrawal after a takeover.

use std::time::Duration;

use ostler_domain::id::{BindingId, OrgId, OutboxId};
use ostler_store::{
    Author, CommitOutcome, LeaseAction, NewOutboxEntry, OutboxDelivery, OutboxEntry, OutboxState,
    SendPolicy, SendProgress, Store, TurnCommit,
};
use ostler_testkit::claim_send;

use crate::on_every_backend;
use crate::support::{
    POLICY, accept, after_takeover, claim, next, thread_messages, turn, with_org,
};

const SENDING: Duration = Duration::from_secs(30);

async fn take(store: &Store) -> Option<OutboxEntry> {
    claim_send(store, SENDING).await
}

/// Commits a turn that sends this many messages.
async fn replies(store: &Store, person: &str, count: usize, author: Author) -> Vec<OutboxId> {
    let claimed = {
        let org = store.orgs().await.unwrap()[0].id;
        accept(store, org, person, person).await;
        claim(store).await.unwrap()
    };
    let mut commit = turn(&claimed);
    commit.outbox = (0..count)
        .map(|n| NewOutboxEntry {
            binding: None,
            id: OutboxId::from_u128(next()),
            author,
            payload: format!("{person}{n}"),
        })
        .collect();
    let ids = commit.outbox.iter().map(|sent| sent.id).collect();
    store.commit_turn(&commit).await.unwrap();
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
    let wait = OutboxDelivery::RetryAfter(Duration::from_secs(60));
    store.org(org).record_delivery(&rosa, wait).await.unwrap();
    assert!(take(store).await.is_none(), "rosa0 is due later and still first");
    store.org(org).record_delivery(&otto, OutboxDelivery::Sent).await.unwrap();
    let twice = store.org(org).record_delivery(&otto, OutboxDelivery::Sent).await;
    assert!(twice.is_err(), "what was sent stays sent");
}

on_every_backend!(a_dead_message_does_not_block_later_ones);
async fn a_dead_message_does_not_block_later_ones(store: &Store) {
    let org = with_org(store, 1).await;
    replies(store, "rosa", 2, Author::Agent).await;
    let first = take(store).await.unwrap();
    let dead = OutboxDelivery::Dead("blocked by the user".into());
    store.org(org).record_delivery(&first, dead).await.unwrap();
    assert_eq!(take(store).await.unwrap().payload, "rosa1");
    assert_eq!(store.org(org).outbox_state(first.id).await.unwrap(), OutboxState::Dead);
}

on_every_backend!(
    /// Z09: a send without a report has an unknown outcome, which a late report resolves.
    z09_an_unreported_send_has_an_unknown_outcome
);
async fn z09_an_unreported_send_has_an_unknown_outcome(store: &Store) {
    let org = with_org(store, 1).await;
    replies(store, "rosa", 2, Author::Agent).await;
    let first = claim_send(store, Duration::from_millis(1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let unreported = store.unreported_sends(10).await.unwrap();
    assert_eq!(unreported, std::slice::from_ref(&first));
    assert!(store.org(org).mark_unreported(&first).await.unwrap());
    assert!(!store.org(org).mark_unreported(&first).await.unwrap(), "once");
    assert_eq!(store.unreported_sends(10).await.unwrap(), []);
    assert_eq!(take(store).await.unwrap().payload, "rosa1", "it does not hold the next one up");
    assert_eq!(store.org(org).outbox_state(first.id).await.unwrap(), OutboxState::Unknown);
    let again = OutboxDelivery::RetryAfter(Duration::ZERO);
    assert!(store.org(org).record_delivery(&first, again).await.is_err(), "the outcome is unknown");
    store.org(org).record_delivery(&first, OutboxDelivery::Sent).await.unwrap();
    assert_eq!(store.org(org).outbox_state(first.id).await.unwrap(), OutboxState::Sent);
}

on_every_backend!(
    /// Z09: a send without a report can be repeated, unless it was reported meanwhile or a
    /// person has taken over.
    z09_an_unreported_send_can_be_repeated
);
async fn z09_an_unreported_send_can_be_repeated(store: &Store) {
    let org = with_org(store, 1).await;
    replies(store, "rosa", 1, Author::Agent).await;
    let progress = SendProgress { may_have_arrived: true, ..SendProgress::default() };
    let first = claim_send(store, Duration::from_millis(1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(store.org(org).repeat_unreported(&first, progress).await.unwrap());
    let again = claim_send(store, Duration::from_millis(1)).await.unwrap();
    assert_eq!((again.id, again.progress, again.attempts), (first.id, progress, 2));
    assert!(!store.org(org).repeat_unreported(&first, progress).await.unwrap(), "an old claim");
    tokio::time::sleep(Duration::from_millis(20)).await;
    store.org(org).withdraw_agent_messages(first.conversation).await.unwrap();
    assert!(!store.org(org).repeat_unreported(&again, progress).await.unwrap(), "taken over");
    assert!(store.org(org).mark_unreported(&again).await.unwrap());
    assert_eq!(store.org(org).outbox_state(first.id).await.unwrap(), OutboxState::Unknown);
}

on_every_backend!(
    /// Z09: a send that is under way does not count as unreported.
    z09_a_send_under_way_is_not_swept
);
async fn z09_a_send_under_way_is_not_swept(store: &Store) {
    let org = with_org(store, 1).await;
    replies(store, "rosa", 1, Author::Agent).await;
    let sending = take(store).await.unwrap();
    assert_eq!(store.unreported_sends(10).await.unwrap(), []);
    assert_eq!(store.org(org).outbox_state(sending.id).await.unwrap(), OutboxState::Sending);
    store.org(org).record_delivery(&sending, OutboxDelivery::Sent).await.unwrap();
    assert_eq!(store.unreported_sends(10).await.unwrap(), []);
    assert_eq!(store.org(org).outbox_state(sending.id).await.unwrap(), OutboxState::Sent);
}

on_every_backend!(
    /// Z09: a report counts for the claim that it is about. One that comes after the message
    /// was claimed again changes nothing.
    z09_a_late_report_of_an_older_claim_is_refused
);
async fn z09_a_late_report_of_an_older_claim_is_refused(store: &Store) {
    let org = with_org(store, 1).await;
    replies(store, "rosa", 1, Author::Agent).await;
    let older = take(store).await.unwrap();
    let again = OutboxDelivery::RetryAfter(Duration::ZERO);
    store.org(org).record_delivery(&older, again.clone()).await.unwrap();
    let newer = take(store).await.unwrap();
    assert_eq!((newer.id, newer.attempts), (older.id, older.attempts + 1));
    for late in [OutboxDelivery::Sent, again, OutboxDelivery::Dead("no".into())] {
        let refused = store.org(org).record_delivery(&older, late.clone()).await;
        assert!(refused.is_err(), "{late:?}");
        assert_eq!(store.org(org).outbox_state(newer.id).await.unwrap(), OutboxState::Sending);
    }
    store.org(org).record_delivery(&newer, OutboxDelivery::Sent).await.unwrap();
}

on_every_backend!(
    /// Z08: after the commit of a takeover no message of an agent is claimed; messages in
    /// flight are returned.
    z08_a_takeover_withdraws_messages_of_agents
);
async fn z08_a_takeover_withdraws_messages_of_agents(store: &Store) {
    let org = with_org(store, 1).await;
    let ids = replies(store, "rosa", 2, Author::Agent).await;
    let flying = take(store).await.unwrap();
    let withdrawn = store.org(org).withdraw_agent_messages(flying.conversation).await.unwrap();
    assert_eq!((withdrawn.withdrawn, withdrawn.in_flight), (1, vec![ids[0]]));
    let later = OutboxDelivery::RetryAfter(Duration::ZERO);
    store.org(org).record_delivery(&flying, later).await.unwrap();
    for id in ids {
        assert_eq!(store.org(org).outbox_state(id).await.unwrap(), OutboxState::Withdrawn);
    }
    accept(store, org, "rosa", "are you there?").await;
    let claimed = claim(store).await.unwrap();
    let mut operator = turn(&claimed);
    operator.outbox[0].author = Author::Human;
    store.commit_turn(&operator).await.unwrap();
    assert!(take(store).await.is_some(), "people are heard in the same conversation");
}

on_every_backend!(
    /// Z08: a turn with a takeover in between is stored but sends nothing.
    z08_a_turn_with_a_takeover_in_between_sends_nothing
);
async fn z08_a_turn_with_a_takeover_in_between_sends_nothing(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let mut claimed = claim(store).await.unwrap();
    store
        .commit_turn(&TurnCommit { lease_action: LeaseAction::Keep, ..turn(&claimed) })
        .await
        .unwrap();
    let first = take(store).await.unwrap();
    store.org(org).record_delivery(&first, OutboxDelivery::Sent).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    claimed.messages = store.claim_more_messages(claimed.lease, POLICY).await.unwrap();
    store.org(org).withdraw_agent_messages(claimed.lease.conversation()).await.unwrap();
    let late = after_takeover(turn(&claimed));
    let id = late.outbox[0].id;
    assert_eq!(store.commit_turn(&late).await.unwrap(), CommitOutcome::RepliesWithdrawn);
    assert_eq!(store.org(org).outbox_state(id).await.unwrap(), OutboxState::Withdrawn);
    assert!(take(store).await.is_none());
}

on_every_backend!(
    /// Z08: the same holds for the first turn of a conversation, whose session is new.
    z08_a_takeover_during_the_first_turn_withdraws_its_replies
);
async fn z08_a_takeover_during_the_first_turn_withdraws_its_replies(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.org(org).withdraw_agent_messages(claimed.lease.conversation()).await.unwrap();
    let late = after_takeover(turn(&claimed));
    let id = late.outbox[0].id;
    assert_eq!(store.commit_turn(&late).await.unwrap(), CommitOutcome::RepliesWithdrawn);
    assert_eq!(store.commit_turn(&late).await.unwrap(), CommitOutcome::AlreadyCommitted);
    assert_eq!(store.org(org).outbox_state(id).await.unwrap(), OutboxState::Withdrawn);
    assert_eq!(thread_messages(store, &claimed).await.len(), 2, "the turn is on record");
    assert!(take(store).await.is_none());
}

on_every_backend!(
    /// Z08: a turn that begins after a takeover has ended is sent, even if its worker
    /// claimed the conversation before.
    z08_a_turn_that_begins_after_a_takeover_is_sent
);
async fn z08_a_turn_that_begins_after_a_takeover_is_sent(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.org(org).withdraw_agent_messages(claimed.lease.conversation()).await.unwrap();
    let epoch = claimed.lease.epoch() + 1;
    let later = TurnCommit { start_epoch: epoch, read_epoch: epoch, ..turn(&claimed) };
    assert_eq!(store.commit_turn(&later).await.unwrap(), CommitOutcome::Complete);
    assert!(take(store).await.is_some());
}

/// Commits a turn of another person that sends one message through a binding.
pub(crate) async fn send_through(
    store: &Store,
    org: OrgId,
    person: u32,
    binding: u128,
) -> OutboxId {
    let person = format!("{org}{person}");
    accept(store, org, &person, &person).await;
    let mut commit = turn(&claim(store).await.unwrap());
    let (id, binding) = (OutboxId::from_u128(next()), Some(BindingId::from_u128(binding)));
    commit.outbox =
        vec![NewOutboxEntry { id, binding, author: Author::Agent, payload: "{}".into() }];
    store.commit_turn(&commit).await.unwrap();
    id
}

on_every_backend!(
    /// Messages are claimed fairly among orgs and bindings, and no more of a binding
    /// than may be sent at a time.
    a_flooded_binding_takes_no_more_than_its_share
);
async fn a_flooded_binding_takes_no_more_than_its_share(store: &Store) {
    let (flooded, quiet) = (with_org(store, 1).await, with_org(store, 2).await);
    for person in 0..20 {
        send_through(store, flooded, person, 1).await;
    }
    send_through(store, flooded, 20, 2).await;
    for person in 0..3 {
        send_through(store, quiet, person, 3).await;
    }
    let policy = SendPolicy { claim_time: SENDING, max_per_binding: 4 };
    let first = store.claim_outbox(policy, 6).await.unwrap();
    let of = |org| first.iter().filter(|entry| entry.org == org).count();
    assert_eq!((of(flooded), of(quiet)), (2 + 1, 2), "each binding gets its share");
    let mut claimed = first;
    loop {
        let more = store.claim_outbox(policy, 6).await.unwrap();
        if more.is_empty() {
            break;
        }
        claimed.extend(more);
    }
    let of = |org| claimed.iter().filter(|entry| entry.org == org).count();
    assert_eq!((of(flooded), of(quiet)), (4 + 1, 3), "the flooded binding is at its limit");
    for entry in claimed.iter().filter(|entry| entry.org == flooded) {
        store.org(flooded).record_delivery(entry, OutboxDelivery::Sent).await.unwrap();
    }
    assert_eq!(store.claim_outbox(policy, 9).await.unwrap().len(), 4, "the next ones follow");
}
