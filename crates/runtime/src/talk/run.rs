//! A run: the record of answering one input. It is its own line in the audit:
//! which tools, how many tokens, what it cost, which model and why that one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ostler_domain::id::{AgentId, ApprovalId, InboxId, RunId, SessionId};
use ostler_domain::money::ledger::Charge;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::time::Timestamp;
use ostler_engine::model::{Restart, Usage};
use ostler_engine::turn::{End, Judgement, Spent};
use serde::{Deserialize, Serialize};

use super::snapshot::Snapshot;

/// The record of answering one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The version of this form.
    pub v: u32,
    /// Its id.
    pub id: RunId,
    /// Its session.
    pub session: SessionId,
    /// When it began.
    pub at: Timestamp,
    /// What it answers.
    pub input: Vec<InboxId>,
    /// How it ended.
    pub outcome: RunOutcome,
    /// What was done, in order, and how long each took.
    pub steps: Vec<StepRecord>,
    /// The turns: one, or several if agents handed over.
    pub turns: Vec<TurnRecord>,
    /// Small turns beside those: a summary, the reading of an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<TurnRecord>,
    /// All that it cost.
    pub credits: Credits,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RunOutcome {
    /// An agent answered.
    Answered,
    /// The conversation went to a person.
    Escalated {
        /// Why.
        reason: String,
    },
    /// A person answers: the message was handed to them.
    WithHuman,
    /// A person was asked for and has not come: the customer was asked to wait.
    WaitingForHuman,
    /// The agent has answered as much today as it may.
    RateLimited,
    /// There is nothing left to pay with.
    CreditsExhausted,
    /// Nobody could answer.
    NoAgent,
    /// It failed, and the customer was told.
    Failed {
        /// Why.
        why: String,
    },
    /// The runtime did something that needs no answer.
    Housekeeping {
        /// What.
        what: String,
    },
}

impl RunOutcome {
    /// The word for it.
    pub const fn word(&self) -> &'static str {
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

/// One of the thirteen steps, as the seeds number them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Its number: `3`, `7.5`.
    pub step: Cow<'static, str>,
    /// What it does.
    pub name: Cow<'static, str>,
    /// When it began, in microseconds since the run did.
    pub began_us: u64,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// A word about what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A turn of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// The agent.
    pub agent: AgentId,
    /// The harness that it worked in.
    pub harness: Snapshot,
    /// Every decision of the gate, with its reason.
    pub decisions: Vec<Judgement>,
    /// Calls that people are to decide on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalId>,
    /// Tokens.
    pub usage: Usage,
    /// What each kind of agent spent.
    pub spent: BTreeMap<String, Spent>,
    /// What the models cost.
    pub cost: Usd,
    /// What is charged for.
    pub charges: Vec<Charge>,
    /// The models that were to answer, the first one first.
    pub models: Vec<String>,
    /// Which models failed, and who answered instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restarts: Vec<Restart>,
    /// How it ended.
    pub end: End,
}
