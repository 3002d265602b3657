//! What is measured of the work of a process: answered messages, the steps of answering, the
//! decisions about calls, credits, and deliveries. The values say nothing of single orgs.

use std::time::Duration;

use ostler_domain::gate::GateDecision;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::records::run::RunRecord;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    step: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    decision: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

type Histograms<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

/// What is measured of the work of a process. Clones share the values.
#[derive(Debug, Clone)]
pub struct RuntimeMetrics {
    runs: Histograms<OutcomeLabels>,
    steps: Histograms<StepLabels>,
    decisions: Family<DecisionLabels, Counter>,
    credits: Counter,
    deliveries: Histograms<ResultLabels>,
}

impl Default for RuntimeMetrics {
    fn default() -> Self {
        Self {
            runs: Family::new_with_constructor(seconds),
            steps: Family::new_with_constructor(seconds),
            decisions: Family::default(),
            credits: Counter::default(),
            deliveries: Family::new_with_constructor(seconds),
        }
    }
}

fn seconds() -> Histogram {
    Histogram::new([0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0])
}

impl RuntimeMetrics {
    /// Makes the values part of what a process exports.
    pub fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "ostler_run_duration",
            "Time to answer a message or another input of a conversation",
            Unit::Seconds,
            self.runs.clone(),
        );
        registry.register_with_unit(
            "ostler_step_duration",
            "Time of a step of answering",
            Unit::Seconds,
            self.steps.clone(),
        );
        registry.register(
            "ostler_tool_decisions",
            "Decisions about calls of tools",
            self.decisions.clone(),
        );
        registry.register(
            "ostler_credits_spent",
            "Credits spent in conversations",
            self.credits.clone(),
        );
        registry.register_with_unit(
            "ostler_delivery_duration",
            "Time of an attempt to deliver a message",
            Unit::Seconds,
            self.deliveries.clone(),
        );
    }

    /// Records a run that is committed.
    pub(crate) fn record_run(&self, record: &RunRecord, took: Duration) {
        let outcome = OutcomeLabels { outcome: record.outcome.as_str() };
        self.runs.get_or_create(&outcome).observe(took.as_secs_f64());
        for step in &record.steps {
            let labels = StepLabels { step: step.name.clone().into_owned() };
            let took = Duration::from_micros(step.took_us);
            self.steps.get_or_create(&labels).observe(took.as_secs_f64());
        }
        for decision in record.turns.iter().flat_map(|turn| &turn.decisions) {
            let decision = match decision.verdict {
                GateDecision::Allow(_) => "allow",
                GateDecision::Ask(_) => "ask",
                GateDecision::Deny(_) => "deny",
            };
            self.decisions.get_or_create(&DecisionLabels { decision }).inc();
        }
        self.credits.inc_by(record.credits.get());
    }

    /// Records an attempt to deliver a message.
    pub(crate) fn record_delivery(&self, result: &'static str, took: Duration) {
        self.deliveries.get_or_create(&ResultLabels { result }).observe(took.as_secs_f64());
    }
}
