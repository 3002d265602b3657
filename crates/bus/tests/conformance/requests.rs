//! Request and reply.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{BusError, ConsumeOptions, Consumer, Delivery, QueueName, Verdict};
use serde_json::json;

use crate::kit::{Backend, Bus, on_every_bus};
use crate::world::{Seen, envelope, number, queue};

const PATIENCE: Duration = Duration::from_secs(60);

/// Replies with twice the number.
async fn doubler(bus: &Bus, name: &QueueName, concurrency: u16) -> Consumer {
    let replies = Arc::clone(bus);
    let handler = move |delivery: Delivery| {
        let bus = Arc::clone(&replies);
        async move {
            let reply = delivery.envelope.reply("doubled", json!({"n": 2 * number(&delivery)}));
            let to = delivery.envelope.context.reply_to.clone().unwrap();
            bus.publish(&to, Arc::new(reply)).await.unwrap();
            Verdict::Done
        }
    };
    let options = ConsumeOptions { concurrency, prefetch: concurrency, accepts: None };
    bus.consume(name, options, Arc::new(handler)).await.unwrap()
}

on_every_bus!(a_request_gets_its_own_reply);
async fn a_request_gets_its_own_reply(backend: &Backend) {
    let bus = backend.bus().await;
    let name = queue("agent.doubler");
    let _consumer = doubler(&bus, &name, 8).await;
    let ask = |number| {
        let (bus, name) = (Arc::clone(&bus), name.clone());
        tokio::spawn(async move {
            let question = envelope(number);
            let id = question.message.id;
            let reply = bus.request(&name, question, PATIENCE).await.unwrap();
            assert_eq!(reply.message.payload["n"], 2 * number);
            assert_eq!(reply.context.parent_message, Some(id));
        })
    };
    for asked in (0..200).map(ask).collect::<Vec<_>>() {
        asked.await.unwrap();
    }
}

on_every_bus!(a_request_without_a_reply_ends);
/// The message itself stays, and a late reply harms nobody.
async fn a_request_without_a_reply_ends(backend: &Backend) {
    let bus = backend.bus().await;
    let name = queue("agent.silent");
    let patience = Duration::from_millis(200);
    let nothing = bus.request(&name, envelope(1), patience).await;
    assert_eq!(nothing, Err(BusError::NoReply { queue: name.clone(), patience }));
    let seen = Seen::open();
    let _consumer = seen.consume(&bus, &name).await;
    seen.until(1).await;
    let late = &seen.all()[0].envelope;
    let to = late.context.reply_to.clone().unwrap();
    let _nobody_waits = bus.publish(&to, Arc::new(late.reply("late", json!(1)))).await;
    let _doubler = doubler(&bus, &queue("agent.doubler"), 1).await;
    let reply = bus.request(&queue("agent.doubler"), envelope(4), PATIENCE).await.unwrap();
    assert_eq!(reply.message.payload["n"], 8);
}
