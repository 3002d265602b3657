//! Progress of sending, retries of dead letters, replies in team chats.

use std::time::Duration;

use ostler_domain::id::{BindingId, OutboxId};
use ostler_domain::time::Timestamp;
use ostler_store::{
    Author, DeadLetterId, DeliveryFollowUp, NewOutboxEntry, OutboxDelivery, OutboxEntry,
    OutboxState, SendPermit, SendProgress, Store, TeamMessage,
};
use ostler_testkit::claim_send;

use crate::on_every_backend;
use crate::support::{accept, claim, next, turn, with_org};

const SENDING: Duration = Duration::from_secs(30);
const BINDING: BindingId = BindingId::from_u128(7);

/// Claims a message of a new conversation.
async fn sending(store: &Store, person: &str, author: Author) -> OutboxEntry {
    sending_in(store, person, author, "active").await
}

/// Claims a message of a new conversation whose session has this status.
async fn sending_in(store: &Store, person: &str, author: Author, status: &str) -> OutboxEntry {
    let org = store.orgs().await.unwrap()[0].id;
    accept(store, org, person, person).await;
    let mut commit = turn(&claim(store).await.unwrap());
    commit.session.status = status.to_owned();
    let id = OutboxId::from_u128(next());
    commit.outbox = vec![NewOutboxEntry { id, binding: None, author, payload: "{}".into() }];
    store.commit_turn(&commit).await.unwrap();
    claim_send(store, SENDING).await.unwrap()
}

on_every_backend!(the_progress_of_a_message_is_stored);
async fn the_progress_of_a_message_is_stored(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    let mut row = sending(store, "rosa", Author::Agent).await;
    assert_eq!((row.author, row.progress), (Author::Agent, SendProgress::default()));
    row.progress = SendProgress {
        next_piece: 2,
        failed_attempts: 1,
        failing_since: Some(Timestamp::from_millis(1)),
        times_dead: 0,
        plain_text: true,
        may_have_arrived: false,
    };
    assert_eq!(here.record_progress(&row, SENDING).await.unwrap(), SendPermit::Granted);
    here.record_delivery(&row, OutboxDelivery::RetryAfter(Duration::ZERO)).await.unwrap();
    let again = claim_send(store, SENDING).await.unwrap();
    assert_eq!((again.id, again.progress), (row.id, row.progress));
    assert_eq!(
        here.record_progress(&row, SENDING).await.unwrap(),
        SendPermit::Revoked,
        "it is another's"
    );
    // Replaying a message with an unknown outcome continues at the same piece.
    here.record_delivery(&again, OutboxDelivery::Unknown("cut".into())).await.unwrap();
    here.replay_dead_letter(DeadLetterId::Outbox(row.id)).await.unwrap();
    let replayed = claim_send(store, SENDING).await.unwrap().progress;
    let expected = SendProgress {
        next_piece: 2,
        failed_attempts: 0,
        failing_since: None,
        times_dead: 0,
        plain_text: true,
        may_have_arrived: true,
    };
    assert_eq!(replayed, expected);
}

on_every_backend!(
    /// Z08: after a takeover no further piece of an agent's message is sent.
    z08_no_piece_is_sent_after_a_takeover
);
async fn z08_no_piece_is_sent_after_a_takeover(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    let agents = sending(store, "rosa", Author::Agent).await;
    let persons = sending(store, "otto", Author::Human).await;
    for row in [&agents, &persons] {
        here.withdraw_agent_messages(row.conversation).await.unwrap();
    }
    assert_eq!(here.record_progress(&agents, SENDING).await.unwrap(), SendPermit::Revoked);
    assert_eq!(here.record_progress(&persons, SENDING).await.unwrap(), SendPermit::Granted);
    here.record_delivery(&agents, OutboxDelivery::RetryAfter(Duration::ZERO)).await.unwrap();
    assert_eq!(here.outbox_state(agents.id).await.unwrap(), OutboxState::Withdrawn);
}

on_every_backend!(
    /// C18: a dead letter is retried when it is due and not before; a message of an agent
    /// from before a takeover is withdrawn instead.
    c18_a_due_dead_letter_is_retried
);
async fn c18_a_due_dead_letter_is_retried(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    let postponed = |retry_after| OutboxDelivery::Postponed { why: "blocked".into(), retry_after };
    let later = sending(store, "rosa", Author::Agent).await;
    here.record_delivery(&later, postponed(Duration::from_secs(300))).await.unwrap();
    let now = sending(store, "otto", Author::Agent).await;
    here.record_delivery(&now, postponed(Duration::ZERO)).await.unwrap();
    let overtaken = sending(store, "gus", Author::Agent).await;
    here.record_delivery(&overtaken, postponed(Duration::ZERO)).await.unwrap();
    here.withdraw_agent_messages(overtaken.conversation).await.unwrap();
    let plain = sending(store, "ida", Author::Agent).await;
    here.record_delivery(&plain, OutboxDelivery::Dead("no".into())).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(store.retry_due_dead_letter().await.unwrap());
    assert!(store.retry_due_dead_letter().await.unwrap());
    assert!(!store.retry_due_dead_letter().await.unwrap());
    let mut states = Vec::new();
    for row in [&later, &now, &overtaken, &plain] {
        states.push(here.outbox_state(row.id).await.unwrap());
    }
    let expected =
        [OutboxState::Dead, OutboxState::Pending, OutboxState::Withdrawn, OutboxState::Dead];
    assert_eq!(states, expected);
    let again = claim_send(store, SENDING).await.unwrap();
    assert_eq!(again.id, now.id);
    here.record_delivery(&again, OutboxDelivery::Abandoned("blocked".into())).await.unwrap();
    assert_eq!(here.outbox_state(now.id).await.unwrap(), OutboxState::Abandoned);
}

on_every_backend!(a_reply_in_a_team_chat_belongs_to_the_session_of_the_message);
async fn a_reply_in_a_team_chat_belongs_to_the_session_of_the_message(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    let mut sessions = Vec::new();
    let all = [("rosa", "1", "handed_off"), ("otto", "2", "handed_off"), ("gus", "3", "active")];
    for (person, number, status) in all {
        let row = sending_in(store, person, Author::System, status).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
        let session = here.newest_session(row.conversation).await.unwrap().unwrap().id;
        sessions.push(session);
        let (chat, provider_id) = ("-100".to_owned(), number.to_owned());
        let team_message = Some(TeamMessage { binding: BINDING, chat, provider_id });
        let follow_up = DeliveryFollowUp { team_message, ..DeliveryFollowUp::default() };
        here.record_delivery_with(&row, OutboxDelivery::Sent, follow_up).await.unwrap();
    }
    let by = |number: &'static str| here.session_replied_to(BINDING, "-100", number);
    assert_eq!(by("1").await.unwrap(), Some(sessions[0]));
    assert_eq!(by("2").await.unwrap(), Some(sessions[1]));
    assert_eq!(by("4").await.unwrap(), None);
    assert_eq!(here.session_replied_to(BINDING, "-200", "1").await.unwrap(), None);
    let last = here.last_handed_off_session(BINDING, "-100").await.unwrap();
    assert_eq!(last, Some(sessions[1]), "of those that are handed off");
}
