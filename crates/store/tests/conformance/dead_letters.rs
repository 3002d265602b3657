//! Dead letters: listed, read, replayed, abandoned.

use std::time::Duration;

use ostler_domain::id::{InboxId, OutboxId};
use ostler_store::{
    AcceptOutcome, Author, DeadLetterId, DeadLetterKind, OutboxDelivery, OutboxState,
    ReleaseReason, Store, StoreError, StoredDeadLetter,
};
use ostler_testkit::claim_send;

use crate::on_every_backend;
use crate::support::{POLICY, accept, claim, turn, with_org};

const SENDING: Duration = Duration::from_secs(30);

/// Makes a message of a person a dead letter for this reason.
async fn dead(store: &Store, org: ostler_domain::id::OrgId, person: &str, why: &str) -> InboxId {
    let AcceptOutcome::New(id) = accept(store, org, person, why).await else { panic!("it is new") };
    let claimed = claim(store).await.unwrap();
    store.make_dead_letter(claimed.lease, id, why).await.unwrap();
    store.release_lease(claimed.lease, ReleaseReason::Untried).await.unwrap();
    id
}

/// Claims a reply and reports this end of it.
async fn reply(store: &Store, person: &str, author: Author, end: OutboxDelivery) -> OutboxId {
    let org = store.orgs().await.unwrap()[0].id;
    accept(store, org, person, person).await;
    let mut commit = turn(&claim(store).await.unwrap());
    commit.outbox[0].author = author;
    let id = commit.outbox[0].id;
    store.commit_turn(&commit).await.unwrap();
    let claimed = claim_send(store, SENDING).await.unwrap();
    store.org(org).record_delivery(&claimed, end).await.unwrap();
    id
}

on_every_backend!(dead_letters_are_listed_page_by_page);
async fn dead_letters_are_listed_page_by_page(store: &Store) {
    let org = with_org(store, 1).await;
    let a = dead(store, org, "rosa", "no agent").await;
    let b = dead(store, org, "otto", "too long").await;
    let c = reply(store, "gus", Author::Agent, OutboxDelivery::Dead("blocked".into())).await;
    let d = reply(store, "ida", Author::Agent, OutboxDelivery::Unknown("timed out".into())).await;
    reply(store, "eva", Author::Agent, OutboxDelivery::Sent).await;
    let (mut all, mut after) = (Vec::<StoredDeadLetter>::new(), None);
    loop {
        let page = store.org(org).dead_letters(after, 3).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        all.extend(page);
    }
    let found: Vec<_> = all
        .iter()
        .map(|letter| (letter.id, letter.kind, letter.reason.as_str(), letter.attempts))
        .collect();
    let expected = [
        (DeadLetterId::Inbox(a), DeadLetterKind::Dead, "no agent", 1),
        (DeadLetterId::Inbox(b), DeadLetterKind::Dead, "too long", 1),
        (DeadLetterId::Outbox(c), DeadLetterKind::Dead, "blocked", 1),
        (DeadLetterId::Outbox(d), DeadLetterKind::Unknown, "timed out", 1),
    ];
    assert_eq!(found, expected);
    for letter in all {
        assert!(letter.failed_at.as_millis() > 1_600_000_000_000, "{letter:?}");
        assert_eq!(store.org(org).dead_letter(letter.id).await.unwrap(), letter);
    }
}

on_every_backend!(a_replayed_message_is_answered_before_later_ones);
async fn a_replayed_message_is_answered_before_later_ones(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "poison").await;
    for _ in 0..POLICY.max_attempts {
        let claimed = claim(store).await.unwrap();
        let failed = ReleaseReason::Failed { retry_after: Duration::ZERO };
        store.release_lease(claimed.lease, failed).await.unwrap();
    }
    assert!(claim(store).await.is_none());
    let letters = store.org(org).dead_letters(None, 10).await.unwrap();
    assert_eq!((letters.len(), letters[0].reason.as_str()), (1, "too many attempts"));
    store.org(org).replay_dead_letter(letters[0].id).await.unwrap();
    let twice = store.org(org).replay_dead_letter(letters[0].id).await;
    assert!(matches!(twice, Err(StoreError::NotFound("dead letter"))), "{twice:?}");
    accept(store, org, "rosa", "later").await;
    let claimed = claim(store).await.unwrap();
    let came: Vec<_> = claimed.messages.iter().map(|m| (m.payload.as_str(), m.attempts)).collect();
    assert_eq!(came, [(r#"{"text":"poison"}"#, 1), (r#"{"text":"later"}"#, 1)]);
    store.commit_turn(&turn(&claimed)).await.unwrap();
    assert!(store.org(org).dead_letters(None, 10).await.unwrap().is_empty());
}

on_every_backend!(a_message_replayed_during_a_turn_is_answered);
async fn a_message_replayed_during_a_turn_is_answered(store: &Store) {
    let org = with_org(store, 1).await;
    let id = dead(store, org, "rosa", "m1").await;
    accept(store, org, "rosa", "m2").await;
    let claimed = claim(store).await.unwrap();
    store.org(org).replay_dead_letter(DeadLetterId::Inbox(id)).await.unwrap();
    assert!(claim(store).await.is_none(), "the conversation is held");
    store.commit_turn(&turn(&claimed)).await.unwrap();
    assert_eq!(claim(store).await.unwrap().messages[0].id, id);
}

on_every_backend!(replaying_a_reply_sends_it_unless_a_person_took_over);
async fn replaying_a_reply_sends_it_unless_a_person_took_over(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    let lost = OutboxDelivery::Unknown("timed out".into());
    let agents = reply(store, "rosa", Author::Agent, lost.clone()).await;
    here.replay_dead_letter(DeadLetterId::Outbox(agents)).await.unwrap();
    let again = claim_send(store, SENDING).await.unwrap();
    assert_eq!((again.id, again.attempts), (agents, 2));
    here.record_delivery(&again, lost.clone()).await.unwrap();
    here.withdraw_agent_messages(again.conversation).await.unwrap();
    let refused = here.replay_dead_letter(DeadLetterId::Outbox(agents)).await;
    assert!(matches!(refused, Err(StoreError::TakenOver)), "{refused:?}");
    assert_eq!(here.outbox_state(agents).await.unwrap(), OutboxState::Unknown);
    let persons = reply(store, "otto", Author::Human, lost).await;
    let letter = here.dead_letter(DeadLetterId::Outbox(persons)).await.unwrap();
    here.withdraw_agent_messages(letter.conversation).await.unwrap();
    here.replay_dead_letter(letter.id).await.unwrap();
    assert_eq!(claim_send(store, SENDING).await.unwrap().id, persons);
}

on_every_backend!(an_abandoned_dead_letter_is_no_longer_listed);
async fn an_abandoned_dead_letter_is_no_longer_listed(store: &Store) {
    let org = with_org(store, 1).await;
    let inbox = DeadLetterId::Inbox(dead(store, org, "rosa", "no agent").await);
    let sent = reply(store, "gus", Author::Agent, OutboxDelivery::Dead("blocked".into())).await;
    for id in [inbox, DeadLetterId::Outbox(sent)] {
        store.org(org).abandon_dead_letter(id, "spam").await.unwrap();
        for refused in [
            store.org(org).abandon_dead_letter(id, "spam").await,
            store.org(org).replay_dead_letter(id).await,
            store.org(org).dead_letter(id).await.map(|_| ()),
        ] {
            assert!(matches!(refused, Err(StoreError::NotFound("dead letter"))), "{refused:?}");
        }
    }
    assert!(store.org(org).dead_letters(None, 10).await.unwrap().is_empty());
    assert_eq!(store.org(org).outbox_state(sent).await.unwrap(), OutboxState::Abandoned);
    assert!(claim(store).await.is_none());
}

on_every_backend!(making_a_dead_letter_needs_the_lease);
async fn making_a_dead_letter_needs_the_lease(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let rosa = claim(store).await.unwrap();
    accept(store, org, "otto", "m2").await;
    let otto = claim(store).await.unwrap();
    let wrong = store.make_dead_letter(rosa.lease, otto.messages[0].id, "no").await;
    assert!(matches!(wrong, Err(StoreError::NotFound("pending message"))), "{wrong:?}");
    store.release_lease(rosa.lease, ReleaseReason::Untried).await.unwrap();
    let late = store.make_dead_letter(rosa.lease, rosa.messages[0].id, "no").await;
    assert!(matches!(late, Err(StoreError::StaleLease)), "{late:?}");
    assert!(store.org(org).dead_letters(None, 10).await.unwrap().is_empty());
}

on_every_backend!(
    /// A05: a dead letter of another org is not found.
    a05_dead_letters_belong_to_their_org
);
async fn a05_dead_letters_belong_to_their_org(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let inbox = DeadLetterId::Inbox(dead(store, here, "rosa", "no agent").await);
    let sent = reply(store, "gus", Author::Agent, OutboxDelivery::Dead("blocked".into())).await;
    assert!(store.org(there).dead_letters(None, 10).await.unwrap().is_empty());
    for id in [inbox, DeadLetterId::Outbox(sent)] {
        for refused in [
            store.org(there).dead_letter(id).await.map(|_| ()),
            store.org(there).replay_dead_letter(id).await,
            store.org(there).abandon_dead_letter(id, "mine").await,
        ] {
            assert!(matches!(refused, Err(StoreError::NotFound("dead letter"))), "{refused:?}");
        }
    }
    assert_eq!(store.org(here).dead_letters(None, 10).await.unwrap().len(), 2);
}
