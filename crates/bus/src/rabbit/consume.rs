//! A consumer on RabbitMQ.
//!
//! It prefetches a few messages of each priority class and starts the most
//! urgent. When the connection is lost it drops what it only prefetched,
//! because the broker redelivers that, keeps running what it has started, and
//! recognises by its id a message whose ack was lost. When it is closed, it
//! requeues what it has not started and waits for the rest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lapin::message::Delivery;
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::priority::{Priority, QueuePosition};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connection::BrokerConnection;
use super::settle::{SettledMessages, UnsettledDelivery, settle};
use super::subscription::{ChannelDelivery, Subscription, SubscriptionOptions};
use super::{Inner, wire};
use crate::bus::{self, ConsumeOptions, Disposition, Failure, Handler, run_handler};
use crate::consumer::Consumer;
use crate::envelope::Envelope;
use crate::queue::QueueName;

/// The delay before a lost channel is replaced.
const RECONNECT_DELAY: Duration = Duration::from_millis(50);

/// A message as received, decoded if possible.
struct ReceivedMessage {
    content: Result<Arc<Envelope>, Failure>,
    redelivered: bool,
    delivery: UnsettledDelivery,
    position: QueuePosition,
}

/// A message whose handler has ended.
struct HandledMessage {
    id: EnvelopeId,
    /// Set if the message has to be handled again.
    retry: Option<ReceivedMessage>,
}

/// Why serving a connection ended.
enum ServeEnd {
    Stopped,
    ConnectionLost,
}

struct ConsumerTask {
    bus: Arc<Inner>,
    queue: QueueName,
    options: ConsumeOptions,
    handler: Arc<dyn Handler>,
    stopping: watch::Receiver<bool>,
    /// Messages not started yet, most urgent first.
    prefetched: BTreeMap<QueuePosition, ReceivedMessage>,
    arrivals: u64,
    in_progress: JoinSet<HandledMessage>,
    ids_in_progress: HashSet<EnvelopeId>,
    /// Messages redelivered while they are in progress. They wait for its
    /// result.
    duplicates: HashMap<EnvelopeId, Vec<ReceivedMessage>>,
    settled: Arc<SettledMessages>,
}

pub(super) fn start(
    bus: &Arc<Inner>,
    queue: &QueueName,
    options: ConsumeOptions,
    handler: Arc<dyn Handler>,
) -> Consumer {
    let (stop, stopping) = watch::channel(false);
    let task_state = ConsumerTask {
        bus: Arc::clone(bus),
        queue: queue.clone(),
        options,
        handler,
        stopping,
        prefetched: BTreeMap::new(),
        arrivals: 0,
        in_progress: JoinSet::new(),
        ids_in_progress: HashSet::new(),
        duplicates: HashMap::new(),
        settled: Arc::default(),
    };
    let task = tokio::spawn(task_state.run());
    let stop = move || {
        stop.send_replace(true);
    };
    Consumer::new(stop, vec![task])
}

impl ConsumerTask {
    async fn run(mut self) {
        loop {
            let mut stopping = self.stopping.clone();
            let connection = tokio::select! {
                biased;
                () = wait_for_stop(&mut stopping) => break,
                Some(done) = self.in_progress.join_next() => {
                    self.on_finished(done.ok()).await;
                    continue;
                }
                connection = self.bus.connector.current() => connection,
            };
            let Ok(connection) = connection else { break };
            match self.serve(&connection).await {
                ServeEnd::Stopped => break,
                ServeEnd::ConnectionLost => {
                    // The broker redelivers what was only prefetched.
                    self.prefetched.clear();
                    self.duplicates.clear();
                    tokio::time::sleep(RECONNECT_DELAY).await;
                }
            }
        }
        self.drain().await;
    }

    /// Waits for the messages in progress and requeues those that need another
    /// attempt.
    async fn drain(&mut self) {
        while let Some(handled) = self.in_progress.join_next().await {
            if let Some(message) = handled.ok().and_then(|handled| handled.retry) {
                message.delivery.requeue().await;
            }
        }
    }

    /// Receives messages on one connection until that or the consumer ends.
    async fn serve(&mut self, connection: &Arc<BrokerConnection>) -> ServeEnd {
        // One more than can be handled, so that there is one of each class to
        // choose from.
        let prefetch = self.options.concurrency.max(1).saturating_add(self.options.prefetch.max(1));
        let options = SubscriptionOptions { queue: self.queue.clone(), prefetch };
        let bus = Arc::clone(&self.bus);
        let Some(mut subscription) = Subscription::open(&bus, connection, &options).await else {
            return ServeEnd::ConnectionLost;
        };
        let mut stopping = self.stopping.clone();
        let mut replaced = std::pin::pin!(bus.connector.newer_than(connection.generation));
        let ended = loop {
            self.start_handlers();
            tokio::select! {
                biased;
                () = wait_for_stop(&mut stopping) => break ServeEnd::Stopped,
                _ = &mut replaced => return ServeEnd::ConnectionLost,
                Some(done) = self.in_progress.join_next() => self.on_finished(done.ok()).await,
                next = subscription.next() => match next {
                    Some(delivery) => {
                        let message = self.receive(delivery);
                        self.enqueue(message).await;
                    }
                    None => break ServeEnd::ConnectionLost,
                },
            }
        };
        let timeout = bus.options.broker_timeout;
        if matches!(ended, ServeEnd::Stopped) {
            if tokio::time::timeout(timeout, self.cancel_and_requeue(&mut subscription))
                .await
                .is_err()
            {
                connection.mark_lost();
            }
            self.drain().await;
        }
        let _closed_or_lost = tokio::time::timeout(timeout, subscription.close()).await;
        ended
    }

    /// Cancels the subscription and requeues all messages not started.
    async fn cancel_and_requeue(&mut self, subscription: &mut Subscription) {
        subscription.cancel().await;
        for (_, message) in std::mem::take(&mut self.prefetched) {
            message.delivery.requeue().await;
        }
        for message in std::mem::take(&mut self.duplicates).into_values().flatten() {
            message.delivery.requeue().await;
        }
        while let Some(delivery) = subscription.try_next() {
            self.receive(delivery).delivery.requeue().await;
        }
    }

    fn receive(&mut self, (channel, delivery): ChannelDelivery) -> ReceivedMessage {
        let Delivery { properties, data, delivery_tag, redelivered, .. } = delivery;
        let content = wire::decode(&properties, &data, &self.bus.options.limits);
        let refusal = |envelope: Arc<Envelope>| {
            let refused = self.options.refusal(&envelope.message.kind);
            refused.map_or(Ok(envelope), Err)
        };
        let attempt = wire::previous_deliveries(&properties).saturating_add(1);
        let id = match &content {
            Ok(envelope) => envelope.message.id,
            Err(_) => wire::message_id(&properties, &data),
        };
        let position = match &content {
            Ok(envelope) => {
                QueuePosition::new(envelope.priority, envelope.sla_deadline, self.arrivals)
            }
            Err(_) => QueuePosition::new(Priority::Critical, None, self.arrivals),
        };
        let content = content.and_then(refusal);
        self.arrivals += 1;
        let queue = self.queue.clone();
        let delivery =
            UnsettledDelivery { id, queue, attempt, properties, body: data, channel, delivery_tag };
        ReceivedMessage { content, redelivered, delivery, position }
    }

    async fn enqueue(&mut self, message: ReceivedMessage) {
        let id = message.delivery.id;
        if self.ids_in_progress.contains(&id) {
            self.duplicates.entry(id).or_default().push(message);
        } else if self.settled.is_repeat(message.delivery.publication(), message.redelivered) {
            message.delivery.ack().await;
        } else {
            self.prefetched.insert(message.position, message);
        }
    }

    /// Starts handlers up to the allowed concurrency.
    fn start_handlers(&mut self) {
        while self.in_progress.len() < usize::from(self.options.concurrency.max(1)) {
            let Some((_, message)) = self.prefetched.pop_first() else { return };
            if self.ids_in_progress.insert(message.delivery.id) {
                let (bus, handler) = (Arc::clone(&self.bus), Arc::clone(&self.handler));
                let (settled, stopping) = (Arc::clone(&self.settled), self.stopping.clone());
                self.in_progress.spawn(handle_and_settle(bus, handler, settled, stopping, message));
            } else {
                // Two copies of one message are handled one after the other.
                self.duplicates.entry(message.delivery.id).or_default().push(message);
            }
        }
    }

    async fn on_finished(&mut self, handled: Option<HandledMessage>) {
        let Some(HandledMessage { id, retry }) = handled else { return };
        self.ids_in_progress.remove(&id);
        // On a lost connection the broker redelivers it.
        if let Some(mut message) = retry.filter(|message| message.delivery.can_be_settled()) {
            message.delivery.attempt += 1;
            message.redelivered = true;
            self.prefetched.insert(message.position, message);
        }
        for duplicate in self.duplicates.remove(&id).into_iter().flatten() {
            self.enqueue(duplicate).await;
        }
    }
}

/// Runs the handler for one message and settles it.
async fn handle_and_settle(
    bus: Arc<Inner>,
    handler: Arc<dyn Handler>,
    settled: Arc<SettledMessages>,
    stopping: watch::Receiver<bool>,
    message: ReceivedMessage,
) -> HandledMessage {
    let (id, queue, attempt) =
        (message.delivery.id, message.delivery.queue.clone(), message.delivery.attempt);
    let disposition = match &message.content {
        Err(failure) => Disposition::DeadLetter(failure.clone()),
        Ok(envelope) => {
            let (envelope, redelivered) = (Arc::clone(envelope), message.redelivered);
            run_handler(&*handler, bus::Delivery { envelope, queue, attempt, redelivered }).await
        }
    };
    let is_settled = settle(&bus, &message.delivery, disposition, &settled, &stopping).await;
    HandledMessage { id, retry: (!is_settled).then_some(message) }
}

/// Returns when the flag is set or its sender is dropped.
async fn wait_for_stop(flag: &mut watch::Receiver<bool>) {
    let _raised_or_gone = flag.wait_for(|up| *up).await;
}
