//! All that a process measures, and the state of the work of the installation, for Prometheus.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use ostler_server::metrics::ReadMetrics;
use ostler_store::{Store, WorkCounts};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::process::ProcessCollector;

type Seconds = Gauge<f64, AtomicU64>;

/// Collects what a process measures.
pub(crate) struct ProcessMetrics {
    pub(crate) registry: Registry,
    store: Store,
    work: WorkGauges,
}

impl ProcessMetrics {
    /// Creates the metrics of this process and of the work in its database.
    pub(crate) fn new(store: Store) -> Self {
        let mut registry = Registry::default();
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("ostler_build", "The version of the program", build);
        let started: Seconds = Gauge::default();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        started.set(now.as_secs_f64());
        registry.register_with_unit(
            "process_start_time",
            "When the process started, since 1970",
            Unit::Seconds,
            started,
        );
        registry.register_collector(Box::new(ProcessCollector));
        let work = WorkGauges::default();
        work.register(&mut registry);
        Self { registry, store, work }
    }

    /// Returns what reads the values; the state of the work is read from the database then.
    pub(crate) fn into_reader(self) -> ReadMetrics {
        let metrics = Arc::new(self);
        Arc::new(move || {
            let metrics = metrics.clone();
            async move { metrics.read().await }.boxed()
        })
    }

    async fn read(&self) -> Result<String, String> {
        let counts = self.store.work_counts().await;
        self.work.set(&counts.map_err(|error| format!("the database cannot be read: {error}"))?);
        let mut text = String::new();
        encode(&mut text, &self.registry).map_err(|error| error.to_string())?;
        Ok(text)
    }
}

/// The state of the work of the installation, the same in every process.
#[derive(Default)]
struct WorkGauges {
    conversation_wait: Seconds,
    delivery_wait: Seconds,
    overdue_conversations: Gauge,
    abandoned_leases: Gauge,
    dead_letters: Gauge,
    unknown_outcomes: Gauge,
}

impl WorkGauges {
    fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "ostler_conversation_wait",
            "For how long the oldest conversation has been due without an answer",
            Unit::Seconds,
            self.conversation_wait.clone(),
        );
        registry.register_with_unit(
            "ostler_delivery_wait",
            "For how long the oldest message to deliver has been due",
            Unit::Seconds,
            self.delivery_wait.clone(),
        );
        let counts = [
            (
                "ostler_overdue_conversations",
                "Conversations due for over a minute that no worker has taken",
                &self.overdue_conversations,
            ),
            (
                "ostler_abandoned_leases",
                "Conversations whose worker died and that no other has taken",
                &self.abandoned_leases,
            ),
            ("ostler_dead_letters", "Messages that are dead letters", &self.dead_letters),
            (
                "ostler_unknown_outcomes",
                "Calls and sends that may or may not have taken effect",
                &self.unknown_outcomes,
            ),
        ];
        for (name, help, gauge) in counts {
            registry.register(name, help, gauge.clone());
        }
    }

    fn set(&self, counts: &WorkCounts) {
        let seconds = |gauge: &Seconds, span: Duration| gauge.set(span.as_secs_f64());
        let count = |gauge: &Gauge, number: u64| {
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        };
        seconds(&self.conversation_wait, counts.conversation_wait);
        seconds(&self.delivery_wait, counts.outbox_overdue);
        count(&self.overdue_conversations, counts.overdue_conversations);
        count(&self.abandoned_leases, counts.abandoned_leases);
        count(&self.dead_letters, counts.dead_letters);
        count(&self.unknown_outcomes, counts.unknown_calls.saturating_add(counts.unknown_sends));
    }
}
