//! Requests and replies.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{BusError, ConsumeOptions, Consumer, Delivery, Disposition, QueueName};
use serde_json::json;

use crate::kit::{Backend, Bus, on_every_bus};
use crate::support::{RecordingHandler, envelope, number, queue};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Replies with twice the number.
async fn doubler(bus: &Bus, name: &QueueName, concurrency: u16) -> Consumer {
    let replies = Arc::clone(bus);
    let handler = move |delivery: Delivery| {
        let bus = Arc::clone(&replies);
        async move {
            let reply = delivery.envelope.reply("doubled", json!({"n": 2 * number(&delivery)}));
            let to = delivery.envelope.context.reply_to.clone().unwrap();
            bus.publish(&to, Arc::new(reply)).await.unwrap();
            Disposition::Done
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
    let request = |number| {
        let (bus, name) = (Arc::clone(&bus), name.clone());
        tokio::spawn(async move {
            let request_envelope = envelope(number);
            let id = request_envelope.message.id;
            let reply = bus.request(&name, request_envelope, TIMEOUT).await.unwrap();
            assert_eq!(reply.message.payload["n"], 2 * number);
            assert_eq!(reply.context.parent_message, Some(id));
        })
    };
    for pending in (0..200).map(request).collect::<Vec<_>>() {
        pending.await.unwrap();
    }
}

on_every_bus!(a_request_without_a_reply_times_out);
/// The request stays in the queue, and a late reply is harmless.
async fn a_request_without_a_reply_times_out(backend: &Backend) {
    let bus = backend.bus().await;
    let name = queue("agent.silent");
    let timeout = Duration::from_millis(200);
    let nothing = bus.request(&name, envelope(1), timeout).await;
    assert_eq!(nothing, Err(BusError::ReplyTimeout { queue: name.clone(), timeout }));
    let seen = RecordingHandler::open();
    let _consumer = seen.consume(&bus, &name).await;
    seen.wait_for(1).await;
    let late = &seen.deliveries()[0].envelope;
    let to = late.context.reply_to.clone().unwrap();
    let _nobody_waits = bus.publish(&to, Arc::new(late.reply("late", json!(1)))).await;
    let _doubler = doubler(&bus, &queue("agent.doubler"), 1).await;
    let reply = bus.request(&queue("agent.doubler"), envelope(4), TIMEOUT).await.unwrap();
    assert_eq!(reply.message.payload["n"], 8);
}
