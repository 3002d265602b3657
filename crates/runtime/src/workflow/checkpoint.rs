//! The checkpoint of a step: stored before anything happens outside, and while
//! the step waits for people. Another process continues from it.

use ostler_domain::money::Credits;
use ostler_domain::money::ledger::Charge;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Trust;
use ostler_engine::history::CallId;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::turn::{self, AgentPath, GateRecord};
use serde::{Deserialize, Serialize};

use super::question::OpenQuestion;

/// The stored state of a step that is not finished.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StepCheckpoint {
    /// The engine's turn, serialized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<String>,
    /// Calls with effects outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<ExternalCall>,
    /// Charges already settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) paid: Vec<Charge>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) questions: Vec<OpenQuestion>,
}

/// A call with effects outside that was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ExternalCall {
    pub(super) path: AgentPath,
    pub(super) call: CallId,
    /// `None` if unknown.
    pub(super) outcome: Option<ToolOutcome>,
}

impl StepCheckpoint {
    /// Returns the known outcomes of started calls.
    pub(super) fn known_outcomes(&self) -> turn::KnownOutcomes {
        let done = self.calls.iter().filter_map(|call| {
            let place = (call.path.clone(), call.call.clone());
            call.outcome.clone().map(|outcome| (place, outcome))
        });
        done.collect()
    }

    /// Returns whether a call had, or may have had, an effect.
    pub(super) fn has_effects(&self) -> bool {
        let done = |call: &ExternalCall| {
            call.outcome.as_ref().is_none_or(|outcome| outcome.status == OutcomeStatus::Ok)
        };
        self.calls.iter().any(done)
    }

    /// Returns the part of the charges that is not settled yet.
    pub(super) fn unpaid(&self, charges: &[Charge]) -> Vec<Charge> {
        let left = charges.iter().map(|charge| {
            let before = self.paid.iter().filter(|paid| paid.expense == charge.expense);
            let before: Credits = before.map(|paid| paid.amount).sum();
            Charge { amount: charge.amount.saturating_sub(before), ..charge.clone() }
        });
        left.filter(|charge| !charge.amount.is_zero()).collect()
    }
}

/// The record of a finished task: what the gate decided, and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// When the task finished.
    pub at: Timestamp,
    /// Whether it read untrusted content.
    pub trust: Trust,
    /// All decisions of the gate, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<GateRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<Charge>,
}
