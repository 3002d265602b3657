//! Run records: what was done to answer one input, with every tool decision, the tokens, the
//! cost and the models.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ostler_domain::gate::GateDecision;
use ostler_domain::id::{AgentId, ApprovalId, InboxId, RunId, SessionId};
use ostler_domain::money::ledger::Charge;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::time::Timestamp;
use ostler_engine::model::{Restart, Usage};
use ostler_engine::turn::{AgentUsage, GateRecord, TurnEnd};
use serde::{Deserialize, Serialize};

use super::snapshot::Snapshot;

/// The record of answering one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The version of the format.
    pub v: u32,
    pub id: RunId,
    pub session: SessionId,
    pub at: Timestamp,
    /// The inbox entries it answers.
    pub input: Vec<InboxId>,
    pub outcome: RunOutcome,
    pub steps: Vec<StepRecord>,
    /// One turn, or several if agents handed over.
    pub turns: Vec<TurnRecord>,
    /// Short model calls besides the answer, such as a summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_turns: Vec<TurnRecord>,
    /// The total cost.
    pub credits: Credits,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RunOutcome {
    Answered,
    /// The conversation was handed to a person.
    Escalated {
        reason: String,
    },
    /// A person has the conversation and got the message.
    WithHuman,
    /// A person was asked for and has not come yet.
    WaitingForHuman,
    /// The agent has reached its daily limits.
    RateLimited,
    CreditsExhausted,
    /// No agent could answer.
    NoAgent,
    /// The turn failed, and the customer was told.
    Failed {
        why: String,
    },
    /// Something that needs no answer.
    Housekeeping {
        what: String,
    },
}

impl RunOutcome {
    /// Returns the name that is stored.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Escalated { .. } => "escalated",
            Self::WithHuman => "with_human",
            Self::WaitingForHuman => "waiting_for_human",
            Self::RateLimited => "rate_limited",
            Self::CreditsExhausted => "credits_exhausted",
            Self::NoAgent => "no_agent",
            Self::Failed { .. } => "failed",
            Self::Housekeeping { .. } => "housekeeping",
        }
    }
}

/// A step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The number of the step, such as `3` or `7.5`.
    pub step: Cow<'static, str>,
    pub name: Cow<'static, str>,
    /// Microseconds from the start of the run.
    pub began_us: u64,
    pub took_us: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A turn of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    pub agent: AgentId,
    pub harness: Snapshot,
    pub decisions: Vec<GateRecord>,
    /// Calls that wait for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalId>,
    pub usage: Usage,
    /// The usage of each agent of the turn, by its type.
    pub spent: BTreeMap<String, AgentUsage>,
    pub cost: Usd,
    pub charges: Vec<Charge>,
    /// The configured models, in order of preference, or the default model.
    pub models: Vec<String>,
    /// Failed model calls and the models that replaced them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restarts: Vec<Restart>,
    pub end: TurnEnd,
}

impl TurnRecord {
    /// Returns the model that answered: the first one, or the one that replaced it last.
    pub fn last_model(&self) -> Option<&str> {
        let first = self.models.first().map(String::as_str);
        self.restarts.last().map(|restart| restart.model.as_str()).or(first)
    }

    /// Returns the decisions on calls, each with the approval that the call waits for.
    pub fn decisions_with_approvals(
        &self,
    ) -> impl Iterator<Item = (&GateRecord, Option<ApprovalId>)> {
        let mut approvals = self.approvals.iter().copied();
        self.decisions.iter().map(move |decision| {
            let asks = matches!(decision.verdict, GateDecision::Ask(_));
            (decision, asks.then(|| approvals.next()).flatten())
        })
    }
}
