//! Sending, beside the outbox: how far a message is, who has to wait, which dead
//! letters are tried again, where people reply.

use std::time::Duration;

use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{BindingId, OutboxId};
use ostler_store::{
    Also, Announced, Author, Delivery, GoOn, LetterId, NewOutbound, OrgBinding, Outbound,
    OutboxState, SendProgress, Store,
};

use crate::on_every_backend;
use crate::world::{accept, agent, claim, next, turn, with_org};

const SENDING: Duration = Duration::from_secs(30);
const BINDING: BindingId = BindingId::from_u128(7);

/// A message of a new conversation, claimed.
async fn sending(store: &Store, person: &str, author: Author) -> Outbound {
    sending_in(store, person, author, "active").await
}

/// The same, in a session of this status.
async fn sending_in(store: &Store, person: &str, author: Author, status: &str) -> Outbound {
    let org = store.orgs().await.unwrap()[0].id;
    accept(store, org, person, person).await;
    let mut commit = turn(&claim(store).await.unwrap());
    commit.session.status = status.to_owned();
    let id = OutboxId::from_u128(next());
    commit.outbox = vec![NewOutbound { id, author, payload: "{}".into() }];
    store.commit_turn(commit).await.unwrap();
    store.claim_outbox(SENDING).await.unwrap().unwrap()
}

on_every_backend!(a_message_remembers_how_far_it_is);
async fn a_message_remembers_how_far_it_is(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    let mut row = sending(store, "rosa", Author::Agent).await;
    assert_eq!((row.author, row.progress), (Author::Agent, SendProgress::default()));
    row.progress = SendProgress { piece: 2, tries: 1, letters: 0, plain: true, again: false };
    assert_eq!(here.record_progress(&row, SENDING).await.unwrap(), GoOn::Yes);
    here.record_delivery(&row, Delivery::RetryAfter(Duration::ZERO)).await.unwrap();
    let again = store.claim_outbox(SENDING).await.unwrap().unwrap();
    assert_eq!((again.id, again.progress), (row.id, row.progress));
    assert_eq!(here.record_progress(&row, SENDING).await.unwrap(), GoOn::No, "it is another's");
    // A person who has an unknown one sent again begins anew where it was.
    here.record_delivery(&again, Delivery::Unknown("cut".into())).await.unwrap();
    here.replay_dead_letter(LetterId::Outbox(row.id)).await.unwrap();
    let replayed = store.claim_outbox(SENDING).await.unwrap().unwrap().progress;
    let expected = SendProgress { piece: 2, tries: 0, letters: 0, plain: true, again: true };
    assert_eq!(replayed, expected);
}

on_every_backend!(
    /// Z08: once a person took over, no further piece of an agent's message is
    /// sent.
    z08_no_piece_is_sent_after_a_takeover
);
async fn z08_no_piece_is_sent_after_a_takeover(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    let agents = sending(store, "rosa", Author::Agent).await;
    let persons = sending(store, "otto", Author::Human).await;
    for row in [&agents, &persons] {
        here.silence_agents(row.conversation).await.unwrap();
    }
    assert_eq!(here.record_progress(&agents, SENDING).await.unwrap(), GoOn::No);
    assert_eq!(here.record_progress(&persons, SENDING).await.unwrap(), GoOn::Yes);
    here.record_delivery(&agents, Delivery::RetryAfter(Duration::ZERO)).await.unwrap();
    assert_eq!(here.outbox_state(agents.id).await.unwrap(), OutboxState::Withdrawn);
}

on_every_backend!(
    /// C18: a dead letter is tried again by itself when its time has come, and not
    /// before; what an agent wrote before a takeover is withdrawn then.
    c18_a_dead_letter_is_tried_again_in_time
);
async fn c18_a_dead_letter_is_tried_again_in_time(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    let postponed = |retry_after| Delivery::Postponed { why: "blocked".into(), retry_after };
    let later = sending(store, "rosa", Author::Agent).await;
    here.record_delivery(&later, postponed(Duration::from_secs(300))).await.unwrap();
    let now = sending(store, "otto", Author::Agent).await;
    here.record_delivery(&now, postponed(Duration::ZERO)).await.unwrap();
    let overtaken = sending(store, "gus", Author::Agent).await;
    here.record_delivery(&overtaken, postponed(Duration::ZERO)).await.unwrap();
    here.silence_agents(overtaken.conversation).await.unwrap();
    let plain = sending(store, "ida", Author::Agent).await;
    here.record_delivery(&plain, Delivery::Dead("no".into())).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(store.revive_dead_letter().await.unwrap());
    assert!(store.revive_dead_letter().await.unwrap());
    assert!(!store.revive_dead_letter().await.unwrap());
    let mut states = Vec::new();
    for row in [&later, &now, &overtaken, &plain] {
        states.push(here.outbox_state(row.id).await.unwrap());
    }
    let expected =
        [OutboxState::Dead, OutboxState::Pending, OutboxState::Withdrawn, OutboxState::Dead];
    assert_eq!(states, expected);
    let again = store.claim_outbox(SENDING).await.unwrap().unwrap();
    assert_eq!(again.id, now.id);
    here.record_delivery(&again, Delivery::Abandoned("blocked".into())).await.unwrap();
    assert_eq!(here.outbox_state(now.id).await.unwrap(), OutboxState::Abandoned);
}

on_every_backend!(a_binding_is_left_alone_as_long_as_asked);
async fn a_binding_is_left_alone_as_long_as_asked(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    assert!(here.way_out(BINDING).await.is_err(), "it is not there");
    let gia = agent(org, "gia");
    let (agent, channel) = (gia.id, Channel::Telegram);
    here.save_agent(gia).await.unwrap();
    let binding = Binding { id: BINDING, channel, enabled: true, priority: 1 };
    let bound = OrgBinding { binding, agent, settings: "{}".into(), secret: None };
    here.save_binding(bound.clone()).await.unwrap();
    assert_eq!(here.way_out(BINDING).await.unwrap(), (bound.clone(), Duration::ZERO));
    here.keep_off_binding(BINDING, Duration::from_secs(100)).await.unwrap();
    here.keep_off_binding(BINDING, Duration::from_secs(5)).await.unwrap();
    let (found, wait) = here.way_out(BINDING).await.unwrap();
    assert_eq!(found, bound);
    assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(100), "{wait:?}");
}

on_every_backend!(people_reply_to_what_they_were_told);
async fn people_reply_to_what_they_were_told(store: &Store) {
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
        let announced = Some(Announced { binding: BINDING, chat, provider_id });
        let also = Also { announced, ..Also::default() };
        here.record_delivery_and(&row, Delivery::Sent, also).await.unwrap();
    }
    let by = |number: &'static str| here.announced_by(BINDING, "-100", number);
    assert_eq!(by("1").await.unwrap(), Some(sessions[0]));
    assert_eq!(by("2").await.unwrap(), Some(sessions[1]));
    assert_eq!(by("4").await.unwrap(), None);
    assert_eq!(here.announced_by(BINDING, "-200", "1").await.unwrap(), None);
    let last = here.last_announced(BINDING, "-100").await.unwrap();
    assert_eq!(last, Some(sessions[1]), "of those that are handed off");
}
