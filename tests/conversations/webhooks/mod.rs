//! Events that are sent to the webhooks of an org.

mod managing;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_channels::{Channels, HttpLimits, NetworkAccess};
use ostler_domain::event::OrgEventKind;
use ostler_domain::id::{NoticeId, OrgId, WebhookId};
use ostler_domain::message::MessagePart;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::webhook::{WebhookConfig, WebhookDeliveryState};
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::{Actor, OrgOperations};
use ostler_runtime::webhooks::{WebhookOptions, WebhookWorker};
use ostler_store::{NewNotice, Redelivery, Store};
use tokio::sync::watch;

use crate::fake_server::{Reply, SeenRequest, Server};
use crate::support::{ECHO, ORG, OWNER, Scenario, on_every_database, org};

const ESCALATES: &str = "
rules:
  - when: { user: refund }
    answer:
      call: escalate_to_human
      with: { reason: a refund, urgency: normal, contextSummary: Rosa paid twice }
default: Yes.
";

fn ok() -> Reply {
    Reply::Status(204, "", Vec::new())
}

fn worker_with(
    scenario: &Scenario,
    network: NetworkAccess,
    options: WebhookOptions,
) -> WebhookWorker {
    let limits = HttpLimits { send_timeout: Duration::from_secs(20), ..HttpLimits::default() };
    let channels = Channels::new(limits, network, |_, _| Err("no secrets".into())).unwrap();
    let now = scenario.now();
    WebhookWorker::new(scenario.store.clone(), channels, Clock::from_fn(move || now), options)
}

fn worker(scenario: &Scenario) -> WebhookWorker {
    worker_with(scenario, NetworkAccess::Unrestricted, WebhookOptions::default())
}

async fn owned(script: &str) -> Scenario {
    let scenario = Scenario::new(script).await;
    scenario.add_member(OWNER, Role::Owner).await;
    scenario
}

/// Creates a webhook and returns it with its key.
async fn subscribe(
    operations: OrgOperations<'_>,
    url: &str,
    events: &[OrgEventKind],
) -> (WebhookId, SigningKeys) {
    let (url, description) = (url.to_owned(), String::new());
    let config = WebhookConfig {
        url,
        description,
        events: events.iter().copied().collect(),
        ..WebhookConfig::default()
    };
    let (webhook, secret) = operations.create_webhook(config).await.unwrap();
    (webhook.id, keys(&secret))
}

fn keys(secret: &str) -> SigningKeys {
    SigningKeys::parse(&ChannelSecret::new(secret)).unwrap()
}

/// Makes an event: a notice to the owner about something of its own.
async fn notify(store: &Store, org: OrgId, number: u128) {
    let notice = NewNotice {
        id: NoticeId::from_u128(number),
        kind: NoticeKind::UnknownOutcome,
        recipient: NoticeRecipient::Owner,
        subject: number.to_string(),
        data: "{}".into(),
    };
    store.org(org).notify(notice).await.unwrap();
}

fn id_of(seen: &SeenRequest) -> String {
    seen.headers()["webhook-id"].to_str().unwrap().to_owned()
}

/// K07: every kind of event of a conversation arrives once, signed, and without words of
/// people.
#[tokio::test]
async fn k07_what_happens_in_a_conversation_is_sent_signed() {
    let scenario = owned(ESCALATES).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let receiver = Server::start([ok()]).await;
    let (id, keys) = subscribe(owner, &format!("{}/hooks", receiver.url), &[]).await;
    scenario.say("rosa", "I want a refund, I am Rosa Bianchi").await;
    let session = scenario.session("rosa").await.id;
    owner.take_over(session).await.unwrap();
    owner.say(session, vec![MessagePart::text("On its way, Rosa")]).await.unwrap();
    owner.resume(session).await.unwrap();
    owner.close(session).await.unwrap();
    let worker = worker(&scenario);
    while receiver.seen().len() < scenario.events().await.len() {
        worker.run_once().await.unwrap();
    }

    let seen = receiver.seen();
    let mut kinds = Vec::new();
    for request in &seen {
        let verified = keys.verify(&request.headers(), &request.body, scenario.now());
        assert_eq!(verified.unwrap().id, id_of(request));
        assert_eq!(request.path(), "/hooks");
        let body = request.json();
        assert_eq!(body["org"], ORG.to_string());
        kinds.push(body["type"].as_str().unwrap().to_owned());
        let text = body.to_string();
        for word in ["refund", "Rosa", "way", "paid twice"] {
            assert!(!text.contains(word), "{text}");
        }
    }
    kinds.sort_unstable();
    let mut expected = scenario.events().await;
    expected.sort_unstable();
    assert_eq!(kinds, expected);
    for kind in ["session_opened", "message", "run", "escalation", "taken_over", "session_closed"] {
        assert!(kinds.iter().any(|one| one == kind), "{kind} in {kinds:?}");
    }
    let ids: BTreeSet<String> = seen.iter().map(id_of).collect();
    assert_eq!(ids.len(), seen.len());
    let log = owner.webhook_deliveries(id, None, None, 200).await.unwrap();
    assert_eq!(log.len(), seen.len());
    for one in log {
        assert_eq!((one.state, one.answer), (WebhookDeliveryState::Delivered, Some(204)));
    }
}

/// K07: a webhook gets the kinds that it subscribes to, from when it was made, and a test.
#[tokio::test]
async fn k07_a_webhook_gets_the_kinds_that_it_wants() {
    let scenario = owned(ECHO).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    scenario.say("rosa", "before").await;
    let receiver = Server::start([ok()]).await;
    let (id, _) = subscribe(owner, &receiver.url, &[OrgEventKind::Run]).await;
    scenario.say("rosa", "after").await;
    owner.test_webhook(id).await.unwrap();
    worker(&scenario).run_once().await.unwrap();
    let mut kinds: Vec<String> =
        receiver.seen().iter().map(|one| one.json()["type"].as_str().unwrap().into()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["run", "webhook_test"]);
}

/// K07: an event that fails is tried again with the same id; people can hasten it, and send it
/// again when it has arrived.
#[tokio::test]
async fn k07_a_repeat_has_the_same_id() {
    let scenario = owned(ECHO).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let receiver = Server::start([Reply::Status(500, "", Vec::new()), Reply::Cut, ok()]).await;
    let (id, _) = subscribe(owner, &receiver.url, &[]).await;
    notify(&scenario.store, ORG, 1).await;
    let worker = worker(&scenario);
    worker.run_once().await.unwrap();
    worker.run_once().await.unwrap();
    let one = owner.webhook_deliveries(id, None, None, 9).await.unwrap().remove(0);
    assert_eq!((one.state, one.attempts), (WebhookDeliveryState::Pending, 1));
    assert_eq!(one.reason, "the receiver answered with HTTP 500");
    assert!(one.due_at > one.attempted_at.unwrap(), "{one:?}");
    for (state, answer) in
        [(WebhookDeliveryState::Pending, None), (WebhookDeliveryState::Delivered, Some(204))]
    {
        assert_eq!(owner.redeliver(id, Redelivery::One(one.id)).await.unwrap(), 1);
        worker.run_once().await.unwrap();
        let now = owner.webhook_delivery(id, one.id).await.unwrap();
        assert_eq!((now.state, now.answer), (state, answer));
    }
    let since = Redelivery::Since { time: one.created_at, failed_only: true };
    assert_eq!(owner.redeliver(id, since).await.unwrap(), 0);
    let since = Redelivery::Since { time: one.created_at, failed_only: false };
    assert_eq!(owner.redeliver(id, since).await.unwrap(), 1);
    worker.run_once().await.unwrap();
    let ids: BTreeSet<String> = receiver.seen().iter().map(id_of).collect();
    assert_eq!((receiver.seen().len(), ids), (4, BTreeSet::from([one.id.to_string()])));
}

on_every_database!(
    /// K07: workers race and die at any point while events happen. Each event arrives, and all
    /// its attempts have one id.
    k07_workers_that_race_and_die_lose_nothing
);
async fn k07_workers_that_race_and_die_lose_nothing(store: Store) {
    const EVENTS: u128 = 120;
    let scenario = Scenario::in_store(store, ECHO).await;
    scenario.add_member(OWNER, Role::Owner).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let receiver = Server::start([ok()]).await;
    subscribe(owner, &receiver.url, &[OrgEventKind::Notice]).await;
    let options = WebhookOptions {
        lease: Duration::from_millis(100),
        poll_interval: Duration::from_millis(2),
        ..WebhookOptions::default()
    };
    let (_running, stop) = watch::channel(false);
    let start = || {
        let worker = worker_with(&scenario, NetworkAccess::Unrestricted, options);
        let stop = stop.clone();
        tokio::spawn(async move { worker.run(stop).await })
    };
    let mut workers = [start(), start()];
    for number in 1..=EVENTS {
        notify(&scenario.store, ORG, number).await;
        if number % 10 == 0 {
            let killed = &mut workers[usize::try_from(number / 10 % 2).unwrap()];
            killed.abort();
            *killed = start();
        }
    }
    let arrived = || {
        let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for seen in receiver.seen() {
            let notice = seen.json()["data"]["notice"].as_str().unwrap().to_owned();
            ids.entry(notice).or_default().insert(id_of(&seen));
        }
        ids
    };
    while arrived().len() < usize::try_from(EVENTS).unwrap() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(arrived().values().all(|ids| ids.len() == 1), "{:?}", arrived());
    for worker in workers {
        worker.abort();
    }
}

/// K07: receivers of one org that hang do not hold up those of another.
#[tokio::test]
async fn k07_hanging_receivers_hold_up_only_themselves() {
    const OTHER: OrgId = OrgId::from_u128(0x0777);
    let scenario = owned(ECHO).await;
    let other = org(OTHER, "other", OrgPlace::TopLevel, LicencePlan::Pro);
    scenario.store.create_org(other).await.unwrap();
    let operations = scenario.operations();
    let slow = operations.as_actor(Actor::User(OWNER), ORG);
    let quick = operations.as_actor(Actor::Terminal, OTHER);
    let (hanging, working) = (Server::start([Reply::Hang]).await, Server::start([ok()]).await);
    for path in 0..6 {
        let url = format!("{}/{path}", hanging.url);
        subscribe(slow, &url, &[OrgEventKind::Notice]).await;
    }
    let (id, _) = subscribe(quick, &working.url, &[OrgEventKind::Notice]).await;
    for number in 1..=40 {
        notify(&scenario.store, ORG, number).await;
        notify(&scenario.store, OTHER, number).await;
    }
    let options = WebhookOptions {
        concurrency: 5,
        poll_interval: Duration::from_millis(2),
        ..WebhookOptions::default()
    };
    let (_running, stop) = watch::channel(false);
    let worker = worker_with(&scenario, NetworkAccess::Unrestricted, options);
    let running = tokio::spawn(async move { worker.run(stop).await });
    while working.seen().len() < 40 || hanging.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let delivered = Some(WebhookDeliveryState::Delivered);
    while quick.webhook_deliveries(id, delivered, None, 99).await.unwrap().len() < 40 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Four webhooks of the slow org are served, each with four requests.
    assert!(hanging.seen().len() <= 16, "{}", hanging.seen().len());
    running.abort();
}
