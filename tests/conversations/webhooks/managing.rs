//! Making, changing and switching off webhooks.

use ostler_channels::NetworkAccess;
use ostler_channels::signature::SigningKeys;
use ostler_domain::event::OrgEventKind;
use ostler_domain::id::UserId;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::role::Role;
use ostler_domain::webhook::{WebhookConfig, WebhookStatus};
use ostler_runtime::operations::{Actor, KeyOverlap, OperationError, WebhookChange};
use ostler_runtime::webhooks::WebhookOptions;
use ostler_store::Redelivery;
use serde_json::Value;

use super::{keys, notify, ok, owned, subscribe, worker, worker_with};
use crate::fake_server::{Reply, SeenRequest, Server};
use crate::support::{ECHO, ORG, OWNER};

/// K07: during a rotation both keys sign, or at once only the new one.
#[tokio::test]
async fn k07_keys_are_rotated() {
    let scenario = owned(ECHO).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let receiver = Server::start([ok()]).await;
    let (id, old) = subscribe(owner, &receiver.url, &[]).await;
    let worker = worker(&scenario);
    let send = async |number: u128| {
        notify(&scenario.store, ORG, number).await;
        worker.run_once().await.unwrap();
        receiver.seen().pop().unwrap()
    };
    let valid = |keys: &SigningKeys, seen: &SeenRequest| {
        keys.verify(&seen.headers(), &seen.body, scenario.now()).is_ok()
    };
    let new = keys(&owner.rotate_webhook_key(id, KeyOverlap::Day).await.unwrap());
    let sent = send(1).await;
    assert_eq!((valid(&old, &sent), valid(&new, &sent)), (true, true));
    let newest = keys(&owner.rotate_webhook_key(id, KeyOverlap::None).await.unwrap());
    let sent = send(2).await;
    let found = [&old, &new, &newest].map(|keys| valid(keys, &sent));
    assert_eq!(found, [false, false, true]);
}

/// K07: a receiver that is gone is switched off, its owners get a notice, and when it is
/// enabled again it gets what it has missed.
#[tokio::test]
async fn k07_a_receiver_that_is_gone_is_switched_off_and_misses_nothing() {
    let scenario = owned(ECHO).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let receiver = Server::start([Reply::Status(410, "", Vec::new()), ok()]).await;
    let (id, _) = subscribe(owner, &receiver.url, &[OrgEventKind::Run]).await;
    let worker = worker(&scenario);
    scenario.say("rosa", "one").await;
    worker.run_once().await.unwrap();
    let off = owner.webhook(id).await.unwrap();
    assert_eq!(off.status, WebhookStatus::SwitchedOff);
    assert_eq!(off.reason, "the receiver answered that it is gone (HTTP 410)");
    let kinds = scenario.notice_kinds(NoticeRecipient::Owner).await;
    assert_eq!(kinds, [NoticeKind::WebhookSwitchedOff]);
    assert!(matches!(owner.test_webhook(id).await, Err(OperationError::WebhookOff)));
    scenario.say("rosa", "two").await;
    worker.run_once().await.unwrap();
    assert_eq!(receiver.seen().len(), 1);

    let enable = |skip_missed| WebhookChange {
        enabled: Some(true),
        skip_missed,
        ..WebhookChange::default()
    };
    owner.change_webhook(id, enable(false), None).await.unwrap();
    owner
        .redeliver(id, Redelivery::Since { time: off.created_at, failed_only: true })
        .await
        .unwrap();
    worker.run_once().await.unwrap();
    assert_eq!(receiver.seen().len(), 3);

    let disable = WebhookChange { enabled: Some(false), ..WebhookChange::default() };
    owner.change_webhook(id, disable, None).await.unwrap();
    scenario.say("rosa", "three").await;
    owner.change_webhook(id, enable(true), None).await.unwrap();
    worker.run_once().await.unwrap();
    assert_eq!(receiver.seen().len(), 3, "it was told to skip what it missed");
}

/// K07: who may change webhooks is decided by role, changes are audited without keys, and a
/// lost update is refused.
#[tokio::test]
async fn k07_webhooks_are_changed_by_those_who_configure() {
    const OPERATOR: UserId = UserId::from_u128(0x31);
    let scenario = owned(ECHO).await;
    scenario.add_member(OPERATOR, Role::Operator).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let operator = operations.as_actor(Actor::User(OPERATOR), ORG);
    let url = "https://crm.example/x".to_owned();
    let config = WebhookConfig { url, description: "CRM".into(), ..WebhookConfig::default() };
    let refused = operator.create_webhook(config.clone()).await;
    assert!(matches!(refused, Err(OperationError::Forbidden { .. })));
    let (webhook, secret) = owner.create_webhook(config).await.unwrap();
    assert_eq!(operator.webhooks().await.unwrap().len(), 1);
    let change =
        |text: &str| WebhookChange { description: Some(text.into()), ..WebhookChange::default() };
    let first = owner.change_webhook(webhook.id, change("a"), Some(webhook.version)).await;
    assert_eq!(first.unwrap().config.description, "a");
    let lost = owner.change_webhook(webhook.id, change("b"), Some(webhook.version)).await;
    assert!(matches!(lost, Err(OperationError::Changed)));
    let http = WebhookChange { url: Some("http://crm.example".into()), ..change("c") };
    let bad = owner.change_webhook(webhook.id, http, None).await;
    assert!(matches!(bad, Err(OperationError::Webhook(_))));
    owner.delete_webhook(webhook.id, None).await.unwrap();
    let log = scenario.org().audit_entries(None, None, 50).await.unwrap();
    let actions: Vec<&str> = log
        .iter()
        .map(|one| one.entry.action.as_str())
        .filter(|action| action.contains("webhook"))
        .collect();
    let mut sorted = actions.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["change_webhook", "create_webhook", "delete_webhook"]);
    assert!(log.iter().all(|one| !one.entry.data.contains(&secret)));
}

/// K07: addresses of the installation's own network are not contacted unless the operator has
/// allowed it.
#[tokio::test]
async fn k07_private_addresses_are_not_contacted() {
    let scenario = owned(ECHO).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let receiver = Server::start([ok()]).await;
    let (id, _) = subscribe(owner, &receiver.url, &[]).await;
    notify(&scenario.store, ORG, 1).await;
    worker_with(&scenario, NetworkAccess::Public, WebhookOptions::default())
        .run_once()
        .await
        .unwrap();
    let one = owner.webhook_deliveries(id, None, None, 9).await.unwrap().remove(0);
    assert!(one.reason.contains("may not be contacted"), "{}", one.reason);
    assert!(receiver.seen().is_empty());
    let payload: Value = serde_json::from_str(&one.payload).unwrap();
    assert_eq!(payload["type"], "notice");
}
