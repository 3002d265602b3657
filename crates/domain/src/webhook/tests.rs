//! Tables of the rules of webhooks.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use super::{
    AttemptOutcome, InvalidWebhook, WebhookConfig, WebhookDeliveryState, WebhookHealth,
    after_attempt, payload,
};
use crate::event::OrgEventKind;
use crate::id::OrgId;
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_250);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const HEALTHY: WebhookHealth = WebhookHealth { failures: 0, failing_since: None };

fn config(url: &str) -> WebhookConfig {
    WebhookConfig { url: url.into(), ..WebhookConfig::default() }
}

/// K07: events go over TLS; only addresses of the own network may be without.
#[test]
fn k07_a_url_is_https_or_local() {
    let table: [(&str, Result<(), InvalidWebhook>); 15] = [
        ("https://crm.example/hooks?x=1", Ok(())),
        ("https://crm.example:8443", Ok(())),
        ("http://localhost:9000/hooks", Ok(())),
        ("http://127.0.0.1:9000", Ok(())),
        ("http://[::1]:9000/x", Ok(())),
        ("http://10.1.2.3/x", Ok(())),
        ("http://crm.example/hooks", Err(InvalidWebhook::Scheme)),
        ("http://127.0.0.1.example.com/", Err(InvalidWebhook::Scheme)),
        ("http://localhost.example.com/", Err(InvalidWebhook::Scheme)),
        ("ftp://crm.example", Err(InvalidWebhook::Scheme)),
        ("https:///hooks", Err(InvalidWebhook::Host)),
        ("https://me:secret@crm.example/", Err(InvalidWebhook::Credentials)),
        ("http://127.0.0.1@crm.example/", Err(InvalidWebhook::Credentials)),
        ("https://crm.example/a b", Err(InvalidWebhook::Characters)),
        ("https://crm.example/#x", Err(InvalidWebhook::Characters)),
    ];
    for (url, expected) in table {
        assert_eq!(config(url).check(), expected, "{url}");
    }
    let test = WebhookConfig {
        events: BTreeSet::from([OrgEventKind::WebhookTest]),
        ..config("https://crm.example")
    };
    assert_eq!(test.check(), Err(InvalidWebhook::TestEvent));
}

#[test]
fn k07_a_webhook_without_kinds_gets_all() {
    let all = config("https://crm.example");
    assert!(OrgEventKind::ALL.iter().all(|kind| all.wants(*kind)));
    let some = WebhookConfig { events: BTreeSet::from([OrgEventKind::Handoff]), ..all };
    let wanted: Vec<_> = OrgEventKind::ALL.iter().filter(|kind| some.wants(**kind)).collect();
    assert_eq!(wanted, [&OrgEventKind::Handoff]);
}

/// K07, S09: what leaves the installation has no words of customers.
#[test]
fn k07_a_payload_has_ids_and_no_words() {
    let data = json!({"author": {"role": "customer", "name": "Rosa"}, "session": "ses_1",
        "text": "My number is 123"});
    let body = payload(OrgId::from_u128(1), OrgEventKind::Message, NOW, data);
    let expected = json!({"type": "message", "timestamp": "2023-11-14T22:13:20.250Z",
        "org": OrgId::from_u128(1), "data": {"author": {"role": "customer"}, "session": "ses_1"}});
    assert_eq!(body, expected);
}

#[test]
fn k07_failed_attempts_are_retried_for_three_days() {
    let failed = AttemptOutcome::Failed { retry_after: None };
    let mut waits = Vec::new();
    for attempt in 1.. {
        let verdict = after_attempt(failed, attempt, HEALTHY, NOW, 500);
        let Some(next) = verdict.next_at else {
            assert_eq!((verdict.state, attempt), (WebhookDeliveryState::Failed, 16));
            break;
        };
        assert_eq!(verdict.state, WebhookDeliveryState::Pending);
        waits.push(next.since(NOW).as_secs());
    }
    assert_eq!(waits[..7], [5, 20, 80, 320, 1280, 5120, 20_480]);
    assert!(waits[7..].iter().all(|wait| *wait == 8 * 3600));
    let days = waits.iter().sum::<u64>() / DAY.as_secs();
    assert_eq!(days, 2);
    // A receiver is asked when it wants to be, and within a day at the latest.
    let asked = |secs| AttemptOutcome::Failed { retry_after: Some(Duration::from_secs(secs)) };
    for (secs, expected) in [(600, 600), (1_000_000, 8 * 3600)] {
        let next = after_attempt(asked(secs), 1, HEALTHY, NOW, 500).next_at.unwrap();
        assert_eq!(next.since(NOW).as_secs(), expected);
    }
}

#[test]
fn k07_a_webhook_that_fails_for_days_is_switched_off() {
    let failed = AttemptOutcome::Failed { retry_after: None };
    let since = |age: Duration| {
        let at = Timestamp::from_millis(NOW.as_millis() - age.as_millis() as i64);
        WebhookHealth { failures: 9, failing_since: Some(at) }
    };
    let table = [
        (failed, HEALTHY, false),
        (failed, since(DAY * 4), false),
        (failed, since(DAY * 5), true),
        (AttemptOutcome::Delivered, since(DAY * 5), false),
        (AttemptOutcome::Gone, HEALTHY, true),
    ];
    for (outcome, health, expected) in table {
        let verdict = after_attempt(outcome, 1, health, NOW, 500);
        assert_eq!(verdict.switch_off, expected, "{outcome:?} {health:?}");
    }
    let verdict = after_attempt(failed, 1, since(DAY), NOW, 500);
    assert_eq!(verdict.health, WebhookHealth { failures: 10, ..since(DAY) });
}

#[test]
fn k07_a_failing_receiver_is_probed_and_recovers() {
    let failed = AttemptOutcome::Failed { retry_after: None };
    let pause = |failures| {
        let health = WebhookHealth { failures, failing_since: Some(NOW) };
        after_attempt(failed, 1, health, NOW, 500).pause.as_secs()
    };
    assert_eq!([0, 1, 2, 3, 20].map(pause), [0, 0, 1, 2, 300]);
    let after = |failures| {
        let health = WebhookHealth { failures, failing_since: Some(NOW) };
        after_attempt(AttemptOutcome::Delivered, 1, health, NOW, 500)
    };
    assert_eq!([1, 2, 3].map(|failures| after(failures).recovered), [false, false, true]);
    assert_eq!(after(7).health, HEALTHY);
}
