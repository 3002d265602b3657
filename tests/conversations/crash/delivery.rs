//! Delivery workers that are killed while they send.

use std::time::Duration;

use ostler_domain::message::MessagePart;
use ostler_runtime::delivery::DeliveryOptions;
use ostler_store::{Author, OutboxState, Store};
use serde_json::json;

use super::{rounds, start_process, wait_for_death};
use crate::fake_server::{Reply, Server};
use crate::support::{ConnectedOrg, GIA, SMS, Scenario, delivery_options};

/// The database of the process; without it the test of the process does nothing.
const DATABASE: &str = "OSTLER_CRASH_DATABASE";
const CLAIM: Duration = Duration::from_millis(200);
const SILENT: &str = "default: I see.";

fn connected_org(scenario: Scenario) -> ConnectedOrg {
    ConnectedOrg::of(scenario, DeliveryOptions { claim_timeout: CLAIM, ..delivery_options() })
}

/// A delivery worker in its own process, which ends at its fault.
#[tokio::test]
async fn process() {
    let Ok(database) = std::env::var(DATABASE) else { return };
    let store = Store::open(&database).await.unwrap();
    connected_org(Scenario::attach(store, SILENT)).deliver().await;
}

/// Z09: a delivery worker that is killed just before a send, or after the receiver accepted it
/// and before the receipt is stored, leaves nothing behind where the receiver recognizes a
/// repeat by its id: the message is sent again with the same one.
#[tokio::test]
async fn z09_what_a_killed_delivery_worker_left_is_repeated_with_the_same_id() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("crash.db").display());
    let store = Store::connect(&database).unwrap();
    store.migrate().await.unwrap();
    let org = connected_org(Scenario::in_store(store, SILENT).await);
    let gateway = org.sms([Reply::json(200, &json!({}))]).await;
    for (place, arrivals) in [("during_delivery", 1), ("after_provider", 2)] {
        let id =
            org.queue_message("+391", SMS, Author::Agent, vec![MessagePart::text(place)]).await;
        let (fault, orders) = (format!("{place}:1"), (DATABASE, database.as_str()));
        wait_for_death(start_process("crash::delivery::process", orders, Some(&fault)), &fault)
            .await;
        tokio::time::sleep(CLAIM + Duration::from_millis(50)).await;
        let swept = org.delivery.sweep().await.unwrap();
        assert_eq!((swept.unknown, swept.repeated), (0, 1), "{place}");
        org.deliver().await;
        assert_eq!(org.state(id).await, OutboxState::Sent, "{place}");
        let seen = gateway.seen();
        let seen: Vec<_> = seen.iter().filter(|one| one.json()["text"] == place).collect();
        let ids: Vec<_> = seen.iter().map(|one| one.headers()["webhook-id"].clone()).collect();
        assert_eq!(ids.len(), arrivals, "{place}");
        assert!(ids.iter().all(|one| *one == ids[0]), "{ids:?}");
        assert_eq!(seen.last().unwrap().json()["possible_duplicate"], true);
    }
}

/// Z09: a delivery worker that is killed just before a send, or after the provider
/// accepted it and before the receipt is stored, leaves one unknown outcome where a person
/// has to decide, and nothing is repeated; everything else is sent once.
#[tokio::test]
async fn z09_a_killed_delivery_worker_leaves_one_unknown_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("crash.db").display());
    let store = Store::connect(&database).unwrap();
    store.migrate().await.unwrap();
    let org = connected_org(Scenario::in_store(store, SILENT).await);
    let gateway = Server::start([Reply::json(200, &json!({}))]).await;
    let settings = json!({"url": gateway.url, "when_unknown": "ask_person"});
    org.bind(SMS, "sms", GIA, 1, &settings).await;
    for round in 0..rounds() {
        for (place, arrives) in [("during_delivery", 0), ("after_provider", 1)] {
            let mut all = Vec::new();
            for (person, n) in [("1", 1), ("1", 2), ("2", 1)] {
                let text = format!("{place} {round} {person} {n}");
                let (to, parts) = (format!("+39{person}"), vec![MessagePart::text(&text)]);
                all.push((org.queue_message(&to, SMS, Author::Agent, parts).await, text));
            }
            let visit = 1 + round % all.len();
            let fault = format!("{place}:{visit}");
            let orders = (DATABASE, database.as_str());
            wait_for_death(start_process("crash::delivery::process", orders, Some(&fault)), &fault)
                .await;
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
