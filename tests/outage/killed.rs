//! Consumers that are killed while their messages become dead letters.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{
    ConsumeOptions, Consumer, DeadLetterFilter, Delivery, Disposition, Envelope, Failure,
    MessageBus, QueueLimits, QueueName, RabbitBus, RabbitOptions, next_id,
};
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use ostler_testkit::{amqp_url, eventually};

use crate::env_number;

/// Tells the consumer process its queue prefix; without it the consumer's test
/// does nothing.
const PREFIX: &str = "OSTLER_KILLED_PREFIX";
const MESSAGES: u64 = 400;
/// How often a consumer is killed, and the variable that changes it.
const KILLS: (&str, u64) = ("OSTLER_KILLS", 5);

async fn bus(prefix: String) -> RabbitBus {
    let broker = amqp_url();
    // Each kill counts as an attempt for messages in progress.
    let limits = QueueLimits { max_attempts: 10_000, ..QueueLimits::default() };
    let options = RabbitOptions { prefix, limits, ..RabbitOptions::default() };
    RabbitBus::connect(&broker, options).await.expect("the broker answers")
}

fn queue() -> QueueName {
    "agent.fails".parse().unwrap()
}

fn is_odd(envelope: &Envelope) -> bool {
    envelope.message.payload.as_u64().unwrap() % 2 == 1
}

/// Makes every odd message a dead letter, and prints a line for each started
/// message.
async fn consume(bus: &RabbitBus) -> Consumer {
    let handler = |delivery: Delivery| {
        println!("started .");
        let failure = Failure { class: FailureClass::Application, reason: "odd".into() };
        let odd = is_odd(&delivery.envelope);
        std::future::ready(if odd { Disposition::DeadLetter(failure) } else { Disposition::Done })
    };
    let options = ConsumeOptions { concurrency: 4, prefetch: 8, accepts: None };
    bus.consume(&queue(), options, Arc::new(handler)).await.unwrap()
}

/// The consumer, in a separate process.
#[tokio::test(flavor = "multi_thread")]
async fn consumer() {
    let Ok(prefix) = std::env::var(PREFIX) else { return };
    let _consumer = consume(&bus(prefix).await).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
}

/// Starts a consumer and kills it after it has started this many messages, or
/// when it is idle.
fn kill_after(prefix: &str, started: usize, idle_timeout: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::consumer", "--nocapture"])
        .env(PREFIX, prefix)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let started_lines =
            out.lines().map_while(Result::ok).filter(|line| line.ends_with("started ."));
        if started_lines.take(started).count() == started {
            let _receiver_gone = sender.send(());
        }
    });
    let _started_or_idle = receiver.recv_timeout(idle_timeout);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
}

/// X28: consumers are killed with -9; in the end each odd message is a dead
/// letter, with its id, and no other message is.
#[tokio::test(flavor = "multi_thread")]
async fn x28_no_dead_letter_is_lost_when_consumers_are_killed() {
    let prefix = format!("k{:x}.", next_id().as_u128());
    let bus = bus(prefix.clone()).await;
    let mut odd: BTreeSet<EnvelopeId> = BTreeSet::new();
    for number in 0..MESSAGES {
        let code = ReferenceCode::new(UtcDay::default(), number);
        let message = Envelope::new("work", serde_json::json!(number), code);
        if is_odd(&message) {
            odd.insert(message.message.id);
        }
        bus.publish(&queue(), Arc::new(message)).await.unwrap();
    }
    for kill in 0..env_number(KILLS.0, KILLS.1) {
        let (prefix, started) = (prefix.clone(), 1 + (kill as usize * 13) % 40);
        let killing = move || kill_after(&prefix, started, Duration::from_secs(20));
        tokio::task::spawn_blocking(killing).await.unwrap();
    }
    let consumer = consume(&bus).await;
    let dead = async || {
        let dead_letters = bus.dead_letters(DeadLetterFilter::All, 10_000).await.unwrap();
        dead_letters.into_iter().map(|dead_letter| dead_letter.id).collect::<BTreeSet<_>>()
    };
    let done =
        async || bus.depth(&queue()).await.unwrap().total() == 0 && dead().await.len() >= odd.len();
    eventually("every odd message to be dead", done).await;
    consumer.close().await;
    assert_eq!(bus.depth(&queue()).await.unwrap().total(), 0);
    assert_eq!(dead().await, odd);
}
