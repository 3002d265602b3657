//! The turn of a task as it is stored: before anything happens outside, and while
//! it waits for people. Whoever takes it up goes on from here.

use ostler_domain::money::Credits;
use ostler_domain::money::ledger::Charge;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Trust;
use ostler_engine::history::CallId;
use ostler_engine::outcome::{Outcome, Status};
use ostler_engine::turn::{self, Judgement, Path};
use serde::{Deserialize, Serialize};

use super::question::OpenQuestion;

/// A turn that is not over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Saved {
    /// The turn, in its own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<String>,
    /// Its calls outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Outside>,
    /// What of it is paid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) paid: Vec<Charge>,
    /// What it waits for people with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) questions: Vec<OpenQuestion>,
}

/// A call outside that had begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Outside {
    pub(super) path: Path,
    pub(super) call: CallId,
    /// What came of it, if that is known.
    pub(super) outcome: Option<Outcome>,
}

impl Saved {
    /// What is known of the calls that had begun.
    pub(super) fn known(&self) -> turn::Known {
        let done = self.calls.iter().filter_map(|one| {
            let place = (one.path.clone(), one.call.clone());
            one.outcome.clone().map(|outcome| (place, outcome))
        });
        done.collect()
    }

    /// Whether anything was done outside, or may have been.
    pub(super) fn has_effects(&self) -> bool {
        let done =
            |one: &Outside| one.outcome.as_ref().is_none_or(|outcome| outcome.status == Status::Ok);
        self.calls.iter().any(done)
    }

    /// What is still to be paid of all that a turn has cost.
    pub(super) fn unpaid(&self, charges: &[Charge]) -> Vec<Charge> {
        let left = charges.iter().map(|charge| {
            let before = self.paid.iter().filter(|paid| paid.expense == charge.expense);
            let before: Credits = before.map(|paid| paid.amount).sum();
            Charge { amount: charge.amount.saturating_sub(before), ..charge.clone() }
        });
        left.filter(|charge| !charge.amount.is_zero()).collect()
    }
}

/// What is kept of a task that is over: what the gate decided, and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// When it was over.
    pub at: Timestamp,
    /// Whether anything from outside was read for it.
    pub trust: Trust,
    /// Every decision of the gate, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Judgement>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<Charge>,
}
