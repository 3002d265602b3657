//! Couriers that are killed while they send: nothing is lost, and nothing is
//! sent twice that is not said to be unknown.

use std::time::Duration;

use ostler_domain::message::MessagePart;
use ostler_runtime::delivery::DeliveryOptions;
use ostler_store::{Author, OutboxState, Store};
use serde_json::json;

use super::{dies, start, times};
use crate::fake_server::Reply;
use crate::support::{ConnectedOrg, SMS, Scenario, delivery_options};

/// Names the database to a courier; without it a courier's test does nothing.
const DATABASE: &str = "OSTLER_CRASH_DATABASE";
const CLAIM: Duration = Duration::from_millis(200);
const SILENT: &str = "default: I see.";

fn exchange(scenario: Scenario) -> ConnectedOrg {
    ConnectedOrg::of(scenario, DeliveryOptions { claim_timeout: CLAIM, ..delivery_options() })
}

/// A courier in a process of its own, which ends where it is told to.
#[tokio::test]
async fn delivery() {
    let Ok(database) = std::env::var(DATABASE) else { return };
    let store = Store::open(&database).await.unwrap();
    exchange(Scenario::attach(store, SILENT)).deliver().await;
}

/// Z09: whoever is killed just before a send, or after the provider took it and
/// before that is written down, leaves one unknown outcome; everything else goes
/// out once, and an unknown one is not repeated.
#[tokio::test]
async fn z09_a_courier_that_is_killed_leaves_an_unknown_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("crash.db").display());
    let store = Store::connect(&database).unwrap();
    store.migrate().await.unwrap();
    let org = exchange(Scenario::in_store(store, SILENT).await);
    let gateway = org.sms([Reply::json(200, &json!({}))]).await;
    for round in 0..times() {
        for (place, arrives) in [("during_delivery", 0), ("after_provider", 1)] {
            let mut all = Vec::new();
            for (person, n) in [("1", 1), ("1", 2), ("2", 1)] {
                let text = format!("{place} {round} {person} {n}");
                let (to, parts) = (format!("+39{person}"), vec![MessagePart::text(&text)]);
                all.push((org.queue_message(&to, SMS, Author::Agent, parts).await, text));
            }
            let visit = 1 + round % all.len();
            let fault = format!("{place}:{visit}");
            let told = (DATABASE, database.as_str());
            dies(start("crash::delivery::delivery", told, Some(&fault)), &fault).await;
            tokio::time::sleep(CLAIM + Duration::from_millis(50)).await;
            assert_eq!(org.delivery.sweep().await.unwrap().unknown, 1, "{place} {round}");
            org.deliver().await;
            let seen = gateway.seen();
            let mut unknown = 0;
            for (id, text) in all {
                let count = seen.iter().filter(|one| one.json()["text"] == text).count();
                match org.state(id).await {
                    OutboxState::Sent => assert_eq!(count, 1, "{text}"),
                    OutboxState::Unknown => {
                        unknown += 1;
                        assert_eq!(count, arrives, "{text}");
                    }
                    other => panic!("{text} is {other:?}"),
                }
            }
            assert_eq!(unknown, 1, "{place} {round}");
        }
    }
}
