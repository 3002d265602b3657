//! A receiver that fails for a while: its messages wait in order, and are sent soon after it
//! works again.

use std::time::Duration;

use ostler_domain::channel::breaker::SendBreaker;
use ostler_domain::id::OutboxId;
use ostler_domain::message::MessagePart;
use ostler_domain::retry::RetryPolicy;
use ostler_runtime::delivery::DeliveryOptions;
use ostler_store::{Author, OutboxState};
use serde_json::json;

use crate::fake_server::{Reply, Server};
use crate::support::{BOT, ConnectedOrg, Scenario, delivery_options, sent_message};

const SILENT: &str = "default: I see.";

fn failures(count: usize) -> Vec<Reply> {
    let failure = json!({"ok": false, "error_code": 500, "description": "no"});
    vec![Reply::json(500, &failure); count]
}

/// Returns what the bot was asked to send, and to whom.
fn sent(server: &Server) -> Vec<String> {
    let line = |seen: &crate::fake_server::SeenRequest| {
        let body = seen.json();
        format!(
            "{}: {}",
            body["chat_id"].as_str().unwrap_or_default(),
            body["text"].as_str().unwrap()
        )
    };
    server.seen().iter().map(line).collect()
}

async fn queue(org: &ConnectedOrg, to: &str, text: &str) -> OutboxId {
    org.queue_message(to, BOT, Author::Agent, vec![MessagePart::text(text)]).await
}

async fn org_with(options: DeliveryOptions) -> ConnectedOrg {
    ConnectedOrg::of(Scenario::new(SILENT).await, options)
}

fn short_breaker() -> SendBreaker {
    let wait = Duration::from_millis(5);
    SendBreaker { initial_wait: wait, max_wait: wait, ..SendBreaker::default() }
}

/// C17, C18: a message whose receiver fails longer than its quick retries is held, with the
/// later ones of its conversation behind it, and all are sent in order.
#[tokio::test]
async fn c17_c18_a_conversation_keeps_its_order_through_an_outage() {
    let max_hold = DeliveryOptions::default().max_hold;
    let breaker = short_breaker();
    let org = org_with(DeliveryOptions { max_hold, breaker, ..delivery_options() }).await;
    let bot = org.bot(failures(4).into_iter().chain([sent_message(1)])).await;
    let first = queue(&org, "7", "one").await;
    let second = queue(&org, "7", "two").await;
    org.deliver_until(second, OutboxState::Sent).await;
    assert_eq!(org.state(first).await, OutboxState::Sent);
    let expected = ["7: one", "7: one", "7: one", "7: one", "7: one", "7: two"];
    assert_eq!(sent(&bot), expected);
}

/// C17: one message that arrives releases all that wait, without their own waits.
#[tokio::test]
async fn c17_a_probe_that_arrives_releases_all_that_waits() {
    let max_hold = DeliveryOptions::default().max_hold;
    let breaker = short_breaker();
    let org = org_with(DeliveryOptions { max_hold, breaker, ..delivery_options() }).await;
    let bot = org.bot(failures(3).into_iter().chain([sent_message(1)])).await;
    let first = queue(&org, "7", "one").await;
    let second = queue(&org, "7", "two").await;
    while bot.seen().len() < 3 {
        org.deliver().await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let failing = org.scenario.org().binding_failures().await.unwrap();
    assert!(failing[0].reason.starts_with("messages wait"), "{failing:?}");
    let probe = queue(&org, "8", "probe").await;
    org.deliver_until(probe, OutboxState::Sent).await;
    org.deliver().await;
    assert_eq!(sent(&bot)[3..], ["8: probe", "7: one", "7: two"]);
    assert_eq!(org.state(first).await, OutboxState::Sent);
    assert_eq!(org.state(second).await, OutboxState::Sent);
    assert!(org.scenario.org().binding_failures().await.unwrap().is_empty());
}

/// C18: what became a dead letter during an outage is sent before the later messages of its
/// conversation when the receiver works again, not minutes after them.
#[tokio::test]
async fn c18_dead_letters_of_an_outage_are_sent_first_when_it_ends() {
    let dead_letter_retries = RetryPolicy::DEAD_LETTER;
    let breaker = short_breaker();
    let org =
        org_with(DeliveryOptions { dead_letter_retries, breaker, ..delivery_options() }).await;
    let bot = org.bot(failures(3).into_iter().chain([sent_message(1)])).await;
    let first = queue(&org, "7", "one").await;
    org.deliver_until(first, OutboxState::Dead).await;
    queue(&org, "8", "probe").await;
    let second = queue(&org, "7", "two").await;
    org.deliver_until(second, OutboxState::Sent).await;
    assert_eq!(sent(&bot)[3..], ["8: probe", "7: one", "7: two"]);
    assert_eq!(org.state(first).await, OutboxState::Sent);
}
