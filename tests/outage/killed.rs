//! Processes that are killed while they give messages up.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{
    ConsumeOptions, Consumer, Delivery, Envelope, Failure, Limits, MessageBus, QueueName,
    RabbitBus, RabbitOptions, Selection, Verdict, next_id,
};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::id::EnvelopeId;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;

use crate::{eventually, number_of};

/// Names the queues to the consumer; without it the consumer's test does
/// nothing.
const PREFIX: &str = "OSTLER_KILLED_PREFIX";
const MESSAGES: u64 = 400;
/// How often a consumer is killed here; a longer campaign sets the variable.
const KILLS: (&str, u64) = ("OSTLER_KILLS", 5);

async fn bus(prefix: String) -> RabbitBus {
    let broker = std::env::var("OSTLER_TEST_AMQP_URL")
        .expect("OSTLER_TEST_AMQP_URL is not set; run the tests with `make test`");
    // Each kill counts as an attempt for what was in work.
    let limits = Limits { attempts: 10_000, ..Limits::default() };
    let options = RabbitOptions { prefix, limits, ..RabbitOptions::default() };
    RabbitBus::connect(&broker, options).await.expect("the broker answers")
}

fn queue() -> QueueName {
    "agent.fails".parse().unwrap()
}

fn is_odd(envelope: &Envelope) -> bool {
    envelope.message.payload.as_u64().unwrap() % 2 == 1
}

/// Gives every odd message up, and says when it begins one.
async fn consume(bus: &RabbitBus) -> Consumer {
    let handler = |delivery: Delivery| {
        println!("began .");
        let failure = Failure { class: FailureClass::Application, reason: "odd".into() };
        let odd = is_odd(&delivery.envelope);
        std::future::ready(if odd { Verdict::Dead(failure) } else { Verdict::Done })
    };
    let options = ConsumeOptions { concurrency: 4, prefetch: 8, accepts: None };
    bus.consume(&queue(), options, Arc::new(handler)).await.unwrap()
}

/// The consumer, in a process of its own.
#[tokio::test(flavor = "multi_thread")]
async fn consumer() {
    let Ok(prefix) = std::env::var(PREFIX) else { return };
    let _consumer = consume(&bus(prefix).await).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
}

/// Starts a consumer and kills it when it has begun so many messages, or has
/// nothing left to begin.
fn kill_after(prefix: &str, begun: usize, nothing_left: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::consumer", "--nocapture"])
        .env(PREFIX, prefix)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let began = out.lines().map_while(Result::ok).filter(|line| line.ends_with("began ."));
        if began.take(begun).count() == begun {
            let _nobody_waits = tell.send(());
        }
    });
    let _begun_or_idle = told.recv_timeout(nothing_left);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
}

/// X28: consumers that are killed with -9 while they give messages up: each of
/// those is a dead letter in the end, with its id, and nothing else is.
#[tokio::test(flavor = "multi_thread")]
async fn x28_a_killed_process_loses_no_dead_letter() {
    let prefix = format!("k{:x}.", next_id().as_u128());
    let bus = bus(prefix.clone()).await;
    let mut odd: BTreeSet<EnvelopeId> = BTreeSet::new();
    for number in 0..MESSAGES {
        let code = ReferenceCode::new(UtcDay::default(), number);
        let one = Envelope::new("work", serde_json::json!(number), code);
        if is_odd(&one) {
            odd.insert(one.message.id);
        }
        bus.publish(&queue(), Arc::new(one)).await.unwrap();
    }
    for kill in 0..number_of(KILLS.0, KILLS.1) {
        let (prefix, begun) = (prefix.clone(), 1 + (kill as usize * 13) % 40);
        let killing = move || kill_after(&prefix, begun, Duration::from_secs(20));
        tokio::task::spawn_blocking(killing).await.unwrap();
    }
    let consumer = consume(&bus).await;
    let dead = async || {
        let letters = bus.dead_letters(Selection::All, 10_000).await.unwrap();
        letters.into_iter().map(|letter| letter.id).collect::<BTreeSet<_>>()
    };
    let done =
        async || bus.depth(&queue()).await.unwrap().total() == 0 && dead().await.len() >= odd.len();
    eventually("every odd message to be dead", done).await;
    consumer.close().await;
    assert_eq!(bus.depth(&queue()).await.unwrap().total(), 0);
    assert_eq!(dead().await, odd);
}
