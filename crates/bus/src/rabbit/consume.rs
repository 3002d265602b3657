//! One consumer: what it holds, what it has in work, and getting both right
//! when the link is lost or the consumer is closed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lapin::message::Delivery;
use ostler_domain::dispatch::priority::{Place, Priority};
use ostler_domain::id::EnvelopeId;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::link::Link;
use super::settle::{Open, Settled, settle};
use super::subscribe::{Arriving, Subscription, Wanted};
use super::{Inner, letter};
use crate::bus::{self, ConsumeOptions, Failure, Handler, Verdict};
use crate::consumer::Consumer;
use crate::envelope::Envelope;
use crate::memory::handle;
use crate::queue::QueueName;

/// The wait before a lost channel is replaced.
const PAUSE: Duration = Duration::from_millis(50);

/// A message that came, read as far as it can be.
struct Arrived {
    content: Result<Arc<Envelope>, Failure>,
    redelivered: bool,
    open: Open,
    place: Place,
}

/// What became of a message in work.
struct Worked {
    id: EnvelopeId,
    /// It is to be handled again.
    again: Option<Arrived>,
}

/// Why serving ended.
enum Ended {
    Stopped,
    Lost,
}

struct Consuming {
    bus: Arc<Inner>,
    queue: QueueName,
    options: ConsumeOptions,
    handler: Arc<dyn Handler>,
    stopping: watch::Receiver<bool>,
    /// Messages that are not begun, the most pressing first.
    held: BTreeMap<Place, Arrived>,
    arrivals: u64,
    in_work: JoinSet<Worked>,
    ids_in_work: HashSet<EnvelopeId>,
    /// What came again while it is in work; it waits for how that ends.
    twins: HashMap<EnvelopeId, Vec<Arrived>>,
    settled: Arc<Settled>,
}

pub(super) fn start(
    bus: &Arc<Inner>,
    queue: &QueueName,
    options: ConsumeOptions,
    handler: Arc<dyn Handler>,
) -> Consumer {
    let (stop, stopping) = watch::channel(false);
    let consuming = Consuming {
        bus: Arc::clone(bus),
        queue: queue.clone(),
        options,
        handler,
        stopping,
        held: BTreeMap::new(),
        arrivals: 0,
        in_work: JoinSet::new(),
        ids_in_work: HashSet::new(),
        twins: HashMap::new(),
        settled: Arc::default(),
    };
    let task = tokio::spawn(consuming.run());
    let stop = move || {
        stop.send_replace(true);
    };
    Consumer::new(stop, vec![task])
}

impl Consuming {
    async fn run(mut self) {
        loop {
            let mut stopping = self.stopping.clone();
            let link = tokio::select! {
                biased;
                () = raised(&mut stopping) => break,
                Some(done) = self.in_work.join_next() => {
                    self.finished(done.ok()).await;
                    continue;
                }
                link = self.bus.links.up() => link,
            };
            let Ok(link) = link else { break };
            match self.serve(&link).await {
                Ended::Stopped => break,
                Ended::Lost => {
                    // What is held is the broker's again and comes again.
                    self.held.clear();
                    self.twins.clear();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        self.drain().await;
    }

    /// Waits for what is in work; what should be handled again is given back.
    async fn drain(&mut self) {
        while let Some(worked) = self.in_work.join_next().await {
            if let Some(arrived) = worked.ok().and_then(|worked| worked.again) {
                arrived.open.give_back().await;
            }
        }
    }

    /// Takes messages through one link until that or the consumer ends.
    async fn serve(&mut self, link: &Arc<Link>) -> Ended {
        // One of each class is always at hand when the next is chosen.
        let prefetch = self.options.concurrency.max(1).saturating_add(self.options.prefetch.max(1));
        let wanted = Wanted { queue: self.queue.clone(), prefetch };
        let bus = Arc::clone(&self.bus);
        let Some(mut subscription) = Subscription::open(&bus, link, &wanted).await else {
            return Ended::Lost;
        };
        let mut stopping = self.stopping.clone();
        let mut replaced = std::pin::pin!(bus.links.newer(link.generation));
        let ended = loop {
            self.begin();
            tokio::select! {
                biased;
                () = raised(&mut stopping) => break Ended::Stopped,
                _ = &mut replaced => return Ended::Lost,
                Some(done) = self.in_work.join_next() => self.finished(done.ok()).await,
                next = subscription.next() => match next {
                    Some(arriving) => {
                        let arrived = self.read(arriving);
                        self.arrive(arrived).await;
                    }
                    None => break Ended::Lost,
                },
            }
        };
        let patience = bus.options.answer_patience;
        if matches!(ended, Ended::Stopped) {
            if tokio::time::timeout(patience, self.leave(&mut subscription)).await.is_err() {
                link.suspect();
            }
            self.drain().await;
        }
        let _closed_or_lost = tokio::time::timeout(patience, subscription.close()).await;
        ended
    }

    /// Takes no more, and gives back what is not begun.
    async fn leave(&mut self, subscription: &mut Subscription) {
        subscription.cancel().await;
        for (_, arrived) in std::mem::take(&mut self.held) {
            arrived.open.give_back().await;
        }
        for arrived in std::mem::take(&mut self.twins).into_values().flatten() {
            arrived.open.give_back().await;
        }
        while let Some(arriving) = subscription.at_hand() {
            self.read(arriving).open.give_back().await;
        }
    }

    fn read(&mut self, (channel, delivery): Arriving) -> Arrived {
        let Delivery { properties, data, delivery_tag, redelivered, .. } = delivery;
        let content = letter::read(&properties, &data, &self.bus.options.limits);
        let refusal = |envelope: Arc<Envelope>| {
            let refused = self.options.refusal(&envelope.message.kind);
            refused.map_or(Ok(envelope), Err)
        };
        let attempt = letter::earlier_deliveries(&properties).saturating_add(1);
        let id = match &content {
            Ok(envelope) => envelope.message.id,
            Err(_) => letter::id(&properties, &data),
        };
        let place = match &content {
            Ok(envelope) => Place::new(envelope.priority, envelope.sla_deadline, self.arrivals),
            Err(_) => Place::new(Priority::Critical, None, self.arrivals),
        };
        let content = content.and_then(refusal);
        self.arrivals += 1;
        let queue = self.queue.clone();
        let open = Open { id, queue, attempt, properties, body: data, channel, delivery_tag };
        Arrived { content, redelivered, open, place }
    }

    async fn arrive(&mut self, arrived: Arrived) {
        let id = arrived.open.id;
        if self.ids_in_work.contains(&id) {
            self.twins.entry(id).or_default().push(arrived);
        } else if self.settled.knows(arrived.open.sending(), arrived.redelivered) {
            arrived.open.ack().await;
        } else {
            self.held.insert(arrived.place, arrived);
        }
    }

    /// Begins as many as may be handled at once.
    fn begin(&mut self) {
        while self.in_work.len() < usize::from(self.options.concurrency.max(1)) {
            let Some((_, arrived)) = self.held.pop_first() else { return };
            if self.ids_in_work.insert(arrived.open.id) {
                let (bus, handler) = (Arc::clone(&self.bus), Arc::clone(&self.handler));
                let (settled, stopping) = (Arc::clone(&self.settled), self.stopping.clone());
                self.in_work.spawn(work(bus, handler, settled, stopping, arrived));
            } else {
                // Two copies of one message are handled one after the other.
                self.twins.entry(arrived.open.id).or_default().push(arrived);
            }
        }
    }

    async fn finished(&mut self, worked: Option<Worked>) {
        let Some(Worked { id, again }) = worked else { return };
        self.ids_in_work.remove(&id);
        // On a lost link it comes again by itself.
        if let Some(mut arrived) = again.filter(|arrived| arrived.open.can_be_settled()) {
            arrived.open.attempt += 1;
            arrived.redelivered = true;
            self.held.insert(arrived.place, arrived);
        }
        for twin in self.twins.remove(&id).into_iter().flatten() {
            self.arrive(twin).await;
        }
    }
}

/// Has one message handled, and settles it.
async fn work(
    bus: Arc<Inner>,
    handler: Arc<dyn Handler>,
    settled: Arc<Settled>,
    stopping: watch::Receiver<bool>,
    arrived: Arrived,
) -> Worked {
    let (id, queue, attempt) = (arrived.open.id, arrived.open.queue.clone(), arrived.open.attempt);
    let verdict = match &arrived.content {
        Err(failure) => Verdict::Dead(failure.clone()),
        Ok(envelope) => {
            let (envelope, redelivered) = (Arc::clone(envelope), arrived.redelivered);
            handle(&*handler, bus::Delivery { envelope, queue, attempt, redelivered }).await
        }
    };
    let over = settle(&bus, &arrived.open, verdict, &settled, &stopping).await;
    Worked { id, again: (!over).then_some(arrived) }
}

/// Returns when the flag is up, or nobody can raise it any more.
async fn raised(flag: &mut watch::Receiver<bool>) {
    let _raised_or_gone = flag.wait_for(|up| *up).await;
}
