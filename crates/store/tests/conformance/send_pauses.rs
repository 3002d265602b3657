//! Pauses of bindings: those that a provider asks for, and circuit breakers.

use std::time::Duration;

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::channel::breaker::SendBreaker;
use ostler_domain::id::{AgentId, BindingId, OrgId, OutboxId};
use ostler_store::{
    OrgBinding, OutboxDelivery, OutboxEntry, OutboxState, SendBinding, SendPolicy, Store,
};

use crate::delivery::send_through;
use crate::on_every_backend;
use crate::support::{agent, with_org};

const BINDING: BindingId = BindingId::from_u128(7);
const POLICY: SendPolicy = SendPolicy { claim_time: Duration::from_secs(30), max_per_binding: 4 };
const HOUR: Duration = Duration::from_secs(3600);

async fn bind(store: &Store, org: OrgId) -> OrgBinding {
    let gia = agent(org, "gia");
    let (agent, channel) = (gia.id, Channel::Telegram);
    store.org(org).save_agent(gia).await.unwrap();
    let binding = Binding { id: BINDING, name: String::new(), channel, enabled: true, priority: 1 };
    let bound = OrgBinding { binding, agent, settings: "{}".into(), secret: None };
    store.org(org).save_binding(bound.clone()).await.unwrap();
    bound
}

on_every_backend!(a_binding_is_paused_for_the_requested_time);
async fn a_binding_is_paused_for_the_requested_time(store: &Store) {
    let org = with_org(store, 1).await;
    let here = store.org(org);
    assert!(here.binding_for_send(BINDING, None).await.is_err(), "it is not there");
    let bound = bind(store, org).await;
    let known = Some(bound.agent);
    let found = here.binding_for_send(BINDING, known).await.unwrap();
    let writer = Some(Subtype::CustomerService);
    assert_eq!(found, SendBinding { bound, pause: Duration::ZERO, failures: 0, writer });
    let gone = Some(AgentId::from_u128(404));
    assert_eq!(here.binding_for_send(BINDING, gone).await.unwrap().writer, None);
    here.pause_binding(BINDING, Duration::from_secs(100)).await.unwrap();
    here.pause_binding(BINDING, Duration::from_secs(5)).await.unwrap();
    let wait = here.binding_for_send(BINDING, None).await.unwrap().pause;
    assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(100), "{wait:?}");
}

/// A breaker that opens after two failures.
fn breaker(wait: Duration) -> SendBreaker {
    SendBreaker { threshold: 2, initial_wait: wait, max_wait: wait }
}

async fn claimed(store: &Store) -> Vec<OutboxEntry> {
    store.claim_outbox(POLICY, 9).await.unwrap()
}

fn ids(entries: &[OutboxEntry]) -> Vec<OutboxId> {
    entries.iter().map(|entry| entry.id).collect()
}

on_every_backend!(
    /// C17: while the receiver of a binding fails, its messages wait; then one at a time is
    /// sent until one arrives. Other bindings go on.
    c17_a_failing_binding_is_probed_with_one_message
);
async fn c17_a_failing_binding_is_probed_with_one_message(store: &Store) {
    let org = with_org(store, 1).await;
    bind(store, org).await;
    let here = store.org(org);
    let mut sent = Vec::new();
    for person in 0..3 {
        sent.push(send_through(store, org, person, 7).await);
    }
    let other = send_through(store, org, 3, 8).await;
    assert!(!here.count_send_failure(BINDING, breaker(HOUR), "500").await.unwrap());
    assert!(here.binding_failures().await.unwrap().is_empty(), "one failure is no outage");
    assert!(here.count_send_failure(BINDING, breaker(HOUR), "502").await.unwrap());
    assert!(!here.count_send_failure(BINDING, breaker(HOUR), "503").await.unwrap());
    let known = here.binding_for_send(BINDING, None).await.unwrap();
    assert_eq!(known.failures, 2, "a send that began before is not counted");
    assert_eq!(ids(&claimed(store).await), [other]);
    let shown = here.binding_failures().await.unwrap();
    assert_eq!(shown[0].reason, "messages wait, because the receiver fails: 502");

    here.close_send_breaker(BINDING).await.unwrap();
    for _ in 0..2 {
        here.count_send_failure(BINDING, breaker(Duration::ZERO), "500").await.unwrap();
    }
    let probe = claimed(store).await;
    assert_eq!(ids(&probe), [sent[0]]);
    assert!(claimed(store).await.is_empty(), "one at a time");
    let later = OutboxDelivery::RetryAfter(HOUR);
    here.record_delivery(&probe[0], later).await.unwrap();
    let next = claimed(store).await;
    assert_eq!(ids(&next), [sent[1]], "another one is the next probe");
    here.close_send_breaker(BINDING).await.unwrap();
    here.record_delivery(&next[0], OutboxDelivery::Sent).await.unwrap();
    let mut rest = ids(&claimed(store).await);
    rest.sort();
    assert_eq!(rest, [sent[0], sent[2]], "what waited is due");
    assert_eq!(here.binding_for_send(BINDING, None).await.unwrap().failures, 0);
}

on_every_backend!(
    /// C18: when a receiver works again, the dead letters of its outage are due, others not.
    c18_the_dead_letters_of_an_outage_are_retried_when_it_ends
);
async fn c18_the_dead_letters_of_an_outage_are_retried_when_it_ends(store: &Store) {
    let org = with_org(store, 1).await;
    bind(store, org).await;
    let here = store.org(org);
    let mut all = Vec::new();
    for (person, binding) in [(0, 7), (1, 7), (2, 8)] {
        all.push(send_through(store, org, person, binding).await);
        let entry = claimed(store).await.pop().unwrap();
        if person == 1 {
            for _ in 0..2 {
                here.count_send_failure(BINDING, breaker(HOUR), "500").await.unwrap();
            }
        }
        let dead = OutboxDelivery::Postponed { why: "500".into(), retry_after: HOUR };
        here.record_delivery(&entry, dead).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(here.retry_dead_letters_of_outage(BINDING).await.unwrap(), 1);
    while store.retry_due_dead_letter().await.unwrap() {}
    let mut states = Vec::new();
    for id in all {
        states.push(here.outbox_state(id).await.unwrap());
    }
    assert_eq!(states, [OutboxState::Dead, OutboxState::Pending, OutboxState::Dead]);
}
