//! Webhooks and their deliveries.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::event::OrgEventKind;
use ostler_domain::id::{AuditId, NoticeId, OrgId, WebhookDeliveryId, WebhookId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::webhook::{AttemptOutcome, WebhookConfig, WebhookDeliveryState, WebhookStatus};
use ostler_store::{
    EventCursor, NewAuditEntry, NewNotice, NewWebhookDelivery, Redelivery, Store, StoreError,
    WebhookAttempt, WebhookKey, WebhookWrite,
};

use crate::on_every_backend;
use crate::support::{TestDatabase, next, with_org};

const LEASE: Duration = Duration::from_secs(30);

fn audit(action: &str) -> NewAuditEntry {
    NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: ostler_domain::audit::AuditActor::Terminal,
        action: action.into(),
        subject: "x".into(),
        data: "{}".into(),
    }
}

fn write(url: &str) -> WebhookWrite {
    let (url, description, events) = (url.to_owned(), String::new(), BTreeSet::new());
    let key = WebhookKey { secret: "whsec_x".into(), expires_at: None };
    WebhookWrite {
        config: WebhookConfig { url, description, events, ..Default::default() },
        keys: vec![key],
        status: WebhookStatus::Enabled,
    }
}

pub(crate) async fn create(store: &Store, org: OrgId) -> WebhookId {
    let id = WebhookId::from_u128(next());
    let org = store.org(org);
    org.audited(audit("create")).create_webhook(id, write("https://x.example")).await.unwrap();
    id
}

fn delivery() -> NewWebhookDelivery {
    let id = WebhookDeliveryId::from_u128(next());
    NewWebhookDelivery { id, kind: OrgEventKind::Run, payload: "{}".into() }
}

/// Adds deliveries without an event.
async fn add(
    store: &Store,
    org: OrgId,
    webhook: WebhookId,
    count: usize,
) -> Vec<WebhookDeliveryId> {
    let mut ids = Vec::new();
    for _ in 0..count {
        let new = delivery();
        ids.push(new.id);
        let org = store.org(org);
        org.audited(audit("test")).add_webhook_delivery(webhook, new).await.unwrap();
    }
    ids
}

fn attempt(outcome: AttemptOutcome) -> WebhookAttempt {
    WebhookAttempt {
        version: 1,
        outcome,
        answer: Some(500),
        took: Duration::from_millis(7),
        reason: "no".into(),
        random_permille: 500,
        notice: NoticeId::from_u128(next()),
    }
}

const FAILED: AttemptOutcome = AttemptOutcome::Failed { retry_after: None };

/// Makes an event.
pub(crate) async fn notify(store: &Store, org: OrgId) {
    let id = NoticeId::from_u128(next());
    let notice = NewNotice {
        id,
        kind: NoticeKind::UnknownOutcome,
        recipient: NoticeRecipient::Owner,
        subject: id.to_string(),
        data: "{}".into(),
    };
    store.org(org).notify(notice).await.unwrap();
}

/// Waits until the event log shows an event after a cursor: on PostgreSQL, all transactions
/// before it have to end.
pub(crate) async fn last_event(store: &Store, org: OrgId, after: EventCursor) -> EventCursor {
    loop {
        if let Some(last) = store.org(org).events_after(after, 99).await.unwrap().pop() {
            return last.cursor;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

on_every_backend!(
    /// K07: of two processes that make deliveries of the same events, one does.
    k07_an_event_becomes_a_delivery_once
);
async fn k07_an_event_becomes_a_delivery_once(store: &Store) {
    let org = with_org(store, 1).await;
    let id = create(store, org).await;
    assert_eq!(store.webhooks_with_events(9).await.unwrap(), []);
    let from = store.org(org).webhook(id).await.unwrap().cursor;
    notify(store, org).await;
    let to = last_event(store, org, from).await;
    assert_eq!(store.webhooks_with_events(9).await.unwrap(), [(org, id)]);
    let here = store.org(org);
    let add = || here.add_webhook_deliveries(id, from, to, vec![delivery()]);
    let (one, other) = tokio::join!(add(), add());
    assert_ne!(one.unwrap(), other.unwrap());
    assert_eq!(here.webhook_deliveries(id, None, None, 9).await.unwrap().len(), 1);
    assert_eq!(here.webhook(id).await.unwrap().cursor, to);
    assert_eq!(store.webhooks_with_events(9).await.unwrap(), []);
}

on_every_backend!(
    /// K07: a webhook has one sender at a time, and another when its lease has ended.
    k07_a_webhook_is_leased_to_one_process
);
async fn k07_a_webhook_is_leased_to_one_process(store: &Store) {
    let org = with_org(store, 1).await;
    let id = create(store, org).await;
    let here = store.org(org);
    assert_eq!(store.webhooks_with_due_deliveries(9).await.unwrap(), []);
    let ids = add(store, org, id, 3).await;
    assert_eq!(store.webhooks_with_due_deliveries(9).await.unwrap(), [(org, id)]);
    let short = here.claim_webhook(id, Duration::ZERO, 2).await.unwrap().unwrap();
    let found: Vec<_> = short.deliveries.iter().map(|one| one.id).collect();
    assert_eq!(found, ids[..2]);
    // That lease has ended, this one lasts.
    let claimed = here.claim_webhook(id, LEASE, 9).await.unwrap().unwrap();
    assert_eq!(claimed.deliveries.len(), 3);
    assert_eq!(here.claim_webhook(id, LEASE, 9).await.unwrap(), None);
    assert_eq!(store.webhooks_with_due_deliveries(9).await.unwrap(), []);
    // Who lost the lease does not end that of another.
    here.release_webhook(&short).await.unwrap();
    assert_eq!(here.claim_webhook(id, LEASE, 9).await.unwrap(), None);
    here.release_webhook(&claimed).await.unwrap();
    assert!(here.claim_webhook(id, LEASE, 9).await.unwrap().is_some());
}

on_every_backend!(
    /// K07: failures in a row pause a webhook, then one delivery probes it, and the first that
    /// arrives makes all due.
    k07_a_receiver_that_recovers_gets_what_waits
);
async fn k07_a_receiver_that_recovers_gets_what_waits(store: &Store) {
    let org = with_org(store, 1).await;
    let id = create(store, org).await;
    let here = store.org(org);
    let ids = add(store, org, id, 4).await;
    for one in &ids[..3] {
        assert!(!here.record_webhook_attempt(id, *one, attempt(FAILED)).await.unwrap());
    }
    let webhook = here.webhook(id).await.unwrap();
    assert_eq!(webhook.health.failures, 3);
    assert!(webhook.health.failing_since.is_some());
    assert_eq!(here.claim_webhook(id, LEASE, 9).await.unwrap(), None, "it is paused");
    // A person who sends something again does not want to wait.
    here.audited(audit("again")).redeliver(id, Redelivery::One(ids[0])).await.unwrap();
    let claimed = here.claim_webhook(id, LEASE, 9).await.unwrap().unwrap();
    assert_eq!(claimed.deliveries.len(), 1, "one probes");
    let delivered = WebhookAttempt { answer: Some(204), ..attempt(AttemptOutcome::Delivered) };
    here.record_webhook_attempt(id, ids[3], delivered).await.unwrap();
    here.release_webhook(&claimed).await.unwrap();
    let claimed = here.claim_webhook(id, LEASE, 9).await.unwrap().unwrap();
    let due: BTreeSet<_> = claimed.deliveries.iter().map(|one| one.id).collect();
    assert_eq!(due, ids[..3].iter().copied().collect());
    let log = here.webhook_deliveries(id, None, None, 9).await.unwrap();
    let states: Vec<_> = log.iter().map(|one| (one.state, one.attempts, one.answer)).collect();
    let pending = WebhookDeliveryState::Pending;
    let expected = [
        (WebhookDeliveryState::Delivered, 1, Some(204)),
        (pending, 1, Some(500)),
        (pending, 1, Some(500)),
        (pending, 0, Some(500)),
    ];
    assert_eq!(states, expected);
    assert_eq!(log[1].took, Some(Duration::from_millis(7)));
}

on_every_backend!(
    /// K07: a receiver that is gone is switched off with one notice, and a change switches it
    /// on with a clean record.
    k07_a_webhook_is_switched_off_once
);
async fn k07_a_webhook_is_switched_off_once(store: &Store) {
    let org = with_org(store, 1).await;
    let id = create(store, org).await;
    let here = store.org(org);
    let ids = add(store, org, id, 2).await;
    for (one, expected) in ids.iter().zip([true, false]) {
        let gone = attempt(AttemptOutcome::Gone);
        assert_eq!(here.record_webhook_attempt(id, *one, gone).await.unwrap(), expected);
    }
    let off = here.webhook(id).await.unwrap();
    assert_eq!((off.status, off.reason.as_str()), (WebhookStatus::SwitchedOff, "no"));
    let notices = here.notices(NoticeRecipient::Owner, 9).await.unwrap();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].notice.kind, NoticeKind::WebhookSwitchedOff);
    assert_eq!(here.claim_webhook(id, LEASE, 9).await.unwrap(), None);

    let change = |version| {
        here.audited(audit("change")).change_webhook(id, version, write("https://y.example"), false)
    };
    assert!(matches!(change(off.version - 1).await, Err(StoreError::ConfigChanged)));
    change(off.version).await.unwrap();
    let on = here.webhook(id).await.unwrap();
    assert_eq!((on.status, on.health.failures), (WebhookStatus::Enabled, 0));
    assert_eq!(on.config.url, "https://y.example");
}

on_every_backend!(
    /// K07, S09: old deliveries that are over are deleted, and those of a deleted webhook.
    k07_old_deliveries_are_pruned
);
async fn k07_old_deliveries_are_pruned(store: &Store) {
    let org = with_org(store, 1).await;
    let id = create(store, org).await;
    let here = store.org(org);
    let ids = add(store, org, id, 3).await;
    for one in &ids[..2] {
        let delivered = attempt(AttemptOutcome::Delivered);
        here.record_webhook_attempt(id, *one, delivered).await.unwrap();
    }
    assert_eq!(store.prune_webhook_deliveries(LEASE, 9).await.unwrap(), 0);
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(store.prune_webhook_deliveries(Duration::ZERO, 1).await.unwrap(), 1);
    assert_eq!(store.prune_webhook_deliveries(Duration::ZERO, 9).await.unwrap(), 1);
    let left = here.webhook_deliveries(id, None, None, 9).await.unwrap();
    assert_eq!(left.iter().map(|one| one.id).collect::<Vec<_>>(), ids[2..]);
    here.audited(audit("delete")).delete_webhook(id).await.unwrap();
    assert_eq!(here.webhook_deliveries(id, None, None, 9).await.unwrap(), []);
    assert!(matches!(here.webhook(id).await, Err(StoreError::NotFound(_))));
}

on_every_backend!(
    /// K07: a webhook is found in its org only.
    k07_webhooks_belong_to_their_org
);
async fn k07_webhooks_belong_to_their_org(store: &Store) {
    let (one, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let id = create(store, one).await;
    let ids = add(store, one, id, 1).await;
    let foreign = store.org(other);
    assert!(foreign.webhook(id).await.is_err());
    assert_eq!(foreign.webhooks().await.unwrap(), []);
    assert!(foreign.webhook_delivery(id, ids[0]).await.is_err());
    assert_eq!(foreign.claim_webhook(id, LEASE, 9).await.unwrap(), None);
    assert!(foreign.audited(audit("delete")).delete_webhook(id).await.is_err());
    let again = foreign.audited(audit("again")).redeliver(id, Redelivery::One(ids[0])).await;
    assert!(again.is_err());
    assert_eq!(store.org(one).webhooks().await.unwrap().len(), 1);
}

on_every_backend!(
    /// K07: what a person does not change stays: why a webhook is off, and how it failed. An
    /// attempt at an address that was changed meanwhile says nothing about the new one.
    k07_a_change_of_a_webhook_resets_what_it_changes
);
async fn k07_a_change_of_a_webhook_resets_what_it_changes(store: &Store) {
    let org = with_org(store, 1).await;
    let id = create(store, org).await;
    let here = store.org(org);
    let ids = add(store, org, id, 3).await;
    here.record_webhook_attempt(id, ids[0], attempt(FAILED)).await.unwrap();
    let save = async |url: &str, description: &str, status, skip_missed| {
        let before = here.webhook(id).await.unwrap();
        let mut write = WebhookWrite { status, ..write(url) };
        write.config.description = description.into();
        let audited = here.audited(audit("change"));
        audited.change_webhook(id, before.version, write, skip_missed).await.unwrap();
        here.webhook(id).await.unwrap()
    };
    let (enabled, url) = (WebhookStatus::Enabled, "https://x.example");
    let described = save(url, "CRM", enabled, false).await;
    assert_eq!((described.health.failures, described.version), (1, 2));
    let moved = save("https://y.example", "CRM", enabled, false).await;
    assert_eq!((moved.health.failures, moved.version), (0, 3));

    let late = WebhookAttempt { version: 2, ..attempt(AttemptOutcome::Gone) };
    assert!(!here.record_webhook_attempt(id, ids[1], late).await.unwrap());
    let now = here.webhook(id).await.unwrap();
    assert_eq!((now.status, now.health.failures), (enabled, 0));
    let gone = WebhookAttempt { version: 3, ..attempt(AttemptOutcome::Gone) };
    assert!(here.record_webhook_attempt(id, ids[1], gone).await.unwrap());
    let off = WebhookStatus::SwitchedOff;
    assert_eq!(save("https://y.example", "the CRM", off, false).await.reason, "no");

    let on = save("https://y.example", "the CRM", enabled, true).await;
    assert_eq!((on.status, on.reason.as_str()), (enabled, ""));
    let log = here.webhook_deliveries(id, None, None, 9).await.unwrap();
    let states: BTreeSet<_> = log.iter().map(|one| one.state.name()).collect();
    assert_eq!(states, BTreeSet::from(["failed"]), "what waited is skipped too");
}

on_every_backend!(
    /// K07: an org has so many webhooks, and learns the limit.
    k07_an_org_has_a_limit_of_webhooks
);
async fn k07_an_org_has_a_limit_of_webhooks(store: &Store) {
    let org = with_org(store, 1).await;
    for _ in 0..20 {
        create(store, org).await;
    }
    let id = WebhookId::from_u128(next());
    let one_more = store.org(org).audited(audit("create"));
    let refused = one_more.create_webhook(id, write("https://x.example")).await;
    assert_eq!(refused.unwrap_err().to_string(), "too many webhooks; the limit is 20");
}

/// K07: kinds of events that a newer program has added are kept and not sent.
#[tokio::test(flavor = "multi_thread")]
async fn k07_events_of_a_newer_program_are_kept() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let org = with_org(&store, 1).await;
        let id = create(&store, org).await;
        let newer = r#"{"url":"https://x.example","description":"","events":["flew"]}"#;
        database.execute(&format!("UPDATE webhooks SET config = '{newer}'")).await;
        let stored = store.org(org).webhook(id).await.unwrap();
        assert_eq!(stored.config.newer_events, BTreeSet::from(["flew".to_owned()]));
        assert!(!stored.config.wants(OrgEventKind::Run));
        assert_eq!(serde_json::to_string(&stored.config).unwrap(), newer);
    }
}
