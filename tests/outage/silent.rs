//! A broker on which one class of a queue has no leader for a while.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_bus::{
    ConsumeOptions, Delivery, Envelope, MessageBus, QueueName, RabbitBus, RabbitOptions, Verdict,
};
use ostler_domain::dispatch::priority::Priority;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;

use crate::eventually;
use crate::server::Server;

fn envelope(priority: Priority) -> Arc<Envelope> {
    let code = ReferenceCode::new(UtcDay::default(), 1);
    let mut envelope = Envelope::new("work", serde_json::json!(priority.as_str()), code);
    envelope.priority = priority;
    Arc::new(envelope)
}

/// X28: a class that does not answer keeps none of the others waiting, neither
/// those who publish nor a consumer; it is taken from as soon as it answers,
/// and what was sent to it is not lost.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "how soon a queue that was suspended is served again is the broker's; make soak runs it"]
async fn x28_a_silent_class_starves_no_other_and_comes_back_by_itself() {
    let mut broker = Server::start("broker");
    let options =
        RabbitOptions { answer_patience: Duration::from_secs(3), ..RabbitOptions::default() };
    let bus = RabbitBus::connect(&broker.url, options).await.expect("the broker answers");
    let queue: QueueName = "agent.flow".parse().unwrap();
    bus.publish(&queue, envelope(Priority::Low)).await.unwrap();
    broker.suspend("agent.flow:low");

    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let handler = {
        let seen = Arc::clone(&seen);
        move |delivery: Delivery| {
            let class = delivery.envelope.message.payload.as_str().unwrap().to_owned();
            seen.lock().unwrap().push(class);
            std::future::ready(Verdict::Done)
        }
    };
    let consumer = bus.consume(&queue, ConsumeOptions::default(), Arc::new(handler)).await.unwrap();
    let all = || seen.lock().unwrap().clone();
    bus.publish(&queue, envelope(Priority::Normal)).await.unwrap();
    eventually("the usual class", async || all() == ["normal"]).await;
    bus.publish(&queue, envelope(Priority::Critical)).await.unwrap();
    eventually("the critical class", async || all() == ["normal", "critical"]).await;

    broker.resume("agent.flow:low");
    eventually("the silent class", async || all() == ["normal", "critical", "low"]).await;
    bus.publish(&queue, envelope(Priority::Low)).await.unwrap();
    eventually("the class to go on", async || all().len() == 4).await;
    consumer.close().await;
    assert_eq!(bus.depth(&queue).await.unwrap().total(), 0);
}
