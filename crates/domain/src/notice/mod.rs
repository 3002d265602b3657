//! Notices to customers, owners and agents: what they are about, who receives them, and
//! their cooldowns. `preferences` has what a person wants to be notified of, `schedule`
//! where and when a notice is sent.

pub mod preferences;
pub mod schedule;
pub mod time_of_day;

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::preferences::NoticeTopic;
use crate::human::escalation::Urgency;
use crate::id::{AgentId, UserId};
use crate::money::{Credits, percent_of};
use crate::time::Timestamp;

/// The subject of a notice.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// Every model in the fallback chain failed.
    ModelsFailed,
    /// An org and its parent have no credits left.
    CreditsExhausted,
    /// A child org reached its cap on the parent's credits.
    ChildCap,
    /// Client orgs have nearly used up what the org pays for them in a day.
    SharingNearCap,
    /// A message became a dead letter. It is retried automatically.
    DeadLetter,
    /// A message was given up as a dead letter.
    DeadLetterAbandoned,
    /// A tool failed too often and is disabled for the session.
    ToolDisabled,
    /// A tool was not called because it costs more than is left.
    ToolUnpaid,
    /// The monthly pool fell to this share.
    LowCredits(LowCredits),
    /// A session reached its spending cap.
    SessionCap,
    /// A conversation was escalated to a human.
    Escalation,
    /// An escalation is still unanswered.
    EscalationReminder,
    /// An urgent escalation was not answered within minutes.
    EscalationUnanswered,
    Handoff,
    /// A tool call needs approval.
    ApprovalWanted,
    /// An approval was not decided in time, or its call was not made in time.
    ApprovalExpired,
    /// A call that a person approved did not do what was asked.
    ApprovedCallFailed,
    /// An approved call was made while a person has the conversation, who has to tell the
    /// customer.
    ApprovedCallMade,
    /// A change of a soul needs a decision.
    SoulProposal,
    /// Another autonomy level of an agent needs the owner's decision.
    LevelProposal,
    /// A reply cannot be sent: its channel has no enabled binding any more.
    NoBinding,
    /// A call or a send may or may not have taken effect.
    UnknownOutcome,
    /// A workflow waits for a person.
    WorkflowWaiting,
    /// A workflow failed.
    WorkflowFailed,
    /// An agent asked for a refund that a person has to pay.
    RefundRequested,
    /// An agent one business layer below sent an issue.
    IssueRaised,
    /// An issue that an agent sent was resolved or dismissed.
    IssueSettled,
    /// The agency or the platform delegated work.
    DelegationReceived,
    /// A client completed or rejected delegated work.
    DelegationAnswered,
    /// The PM gave an agent an instruction.
    Instruction,
    /// A stranger got an org of their own.
    SignedUp,
    /// A conversation was assigned to a person.
    SessionAssigned,
    /// A webhook failed for days, or its receiver is gone, and it is switched off.
    WebhookSwitchedOff,
}

/// How soon a person has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeUrgency {
    Normal,
    /// Customers are not answered until somebody acts.
    Urgent,
}

/// The shares of the monthly pool at which the owner is notified.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LowCredits {
    Percent20,
    Percent10,
    Empty,
}

impl NoticeKind {
    /// Returns the minimum time between two notices of this kind about the same
    /// subject.
    pub const fn cooldown(self) -> Duration {
        const MINUTE: u64 = 60;
        Duration::from_secs(match self {
            Self::ModelsFailed => 30 * MINUTE,
            Self::CreditsExhausted
            | Self::ToolUnpaid
            | Self::ChildCap
            | Self::DeadLetter
            | Self::DeadLetterAbandoned
            | Self::NoBinding
            | Self::WebhookSwitchedOff => 60 * MINUTE,
            Self::ToolDisabled | Self::LowCredits(_) | Self::SharingNearCap | Self::SessionCap => {
                24 * 60 * MINUTE
            }
            // Their subject names one event, which is reported once.
            Self::UnknownOutcome
            | Self::WorkflowWaiting
            | Self::WorkflowFailed
            | Self::RefundRequested => 30 * 24 * 60 * MINUTE,
            Self::Escalation
            | Self::EscalationReminder
            | Self::EscalationUnanswered
            | Self::Handoff
            | Self::ApprovalWanted
            | Self::ApprovalExpired
            | Self::ApprovedCallFailed
            | Self::ApprovedCallMade
            | Self::SoulProposal
            | Self::LevelProposal
            | Self::IssueRaised
            | Self::IssueSettled
            | Self::DelegationReceived
            | Self::DelegationAnswered
            | Self::Instruction
            | Self::SignedUp
            | Self::SessionAssigned => 0,
        })
    }

    /// Returns the text for an agent. It has no figures, because the agent may repeat
    /// what it reads.
    pub const fn agent_text(self) -> &'static str {
        match self {
            Self::CreditsExhausted | Self::LowCredits(_) => {
                "Customers could not be answered for a while. It is not their fault: apologize \
                 for the wait if it comes up, and do not say why."
            }
            Self::ChildCap | Self::SessionCap | Self::SharingNearCap => {
                "A conversation had to end early. Keep answers short, and do not say why."
            }
            Self::ModelsFailed => "An answer failed. Apologize for the wait if it comes up.",
            Self::DeadLetter | Self::DeadLetterAbandoned | Self::NoBinding => {
                "A message did not reach its customer. Repeat what matters."
            }
            Self::ToolDisabled => "A tool failed repeatedly. Do not promise what it would do.",
            Self::ToolUnpaid => "A tool could not be used. Do not promise what it would do.",
            Self::Escalation | Self::EscalationReminder | Self::EscalationUnanswered => {
                "A person was asked for."
            }
            Self::Handoff => "A conversation was handed to a colleague.",
            Self::ApprovalWanted => "A person has to decide on a call.",
            Self::ApprovalExpired => "A call was not decided in time.",
            Self::ApprovedCallFailed => "An approved call did not do what was asked.",
            Self::ApprovedCallMade => "An approved call was made while a person answers.",
            Self::SoulProposal | Self::LevelProposal => {
                "A person has to decide on a change of an agent."
            }
            Self::UnknownOutcome => "It is unknown whether a call or a message took effect.",
            Self::WorkflowWaiting => "A workflow waits for a person.",
            Self::WorkflowFailed => "A workflow failed.",
            Self::RefundRequested => "A person has to pay a refund.",
            Self::IssueRaised => "An agent sent an issue.",
            Self::IssueSettled => "An issue that you sent is settled.",
            Self::DelegationReceived => "Work was delegated to your organization.",
            Self::DelegationAnswered => "A client answered your delegation.",
            Self::Instruction => "The PM gave you an instruction.",
            Self::SignedUp => "Somebody signed up.",
            Self::SessionAssigned => "A conversation was assigned to a person.",
            Self::WebhookSwitchedOff => "Another system gets no events any more.",
        }
    }

    /// Returns the topic that people choose destinations for.
    pub const fn topic(self) -> NoticeTopic {
        match self {
            Self::ApprovalWanted
            | Self::ApprovalExpired
            | Self::ApprovedCallFailed
            | Self::ApprovedCallMade
            | Self::RefundRequested
            | Self::SoulProposal
            | Self::LevelProposal => NoticeTopic::Approvals,
            Self::Escalation | Self::EscalationReminder | Self::EscalationUnanswered => {
                NoticeTopic::Escalations
            }
            Self::CreditsExhausted
            | Self::ChildCap
            | Self::SharingNearCap
            | Self::ToolUnpaid
            | Self::LowCredits(_)
            | Self::SessionCap => NoticeTopic::Credits,
            Self::ModelsFailed => NoticeTopic::Models,
            Self::ToolDisabled => NoticeTopic::Tools,
            Self::DeadLetter | Self::DeadLetterAbandoned | Self::NoBinding => {
                NoticeTopic::DeadLetters
            }
            Self::UnknownOutcome => NoticeTopic::UnknownOutcomes,
            Self::WorkflowWaiting | Self::WorkflowFailed => NoticeTopic::Workflows,
            Self::Handoff | Self::SessionAssigned => NoticeTopic::Handoffs,
            Self::IssueRaised
            | Self::IssueSettled
            | Self::DelegationReceived
            | Self::DelegationAnswered
            | Self::Instruction
            | Self::SignedUp
            | Self::WebhookSwitchedOff => NoticeTopic::Organizations,
        }
    }

    /// Returns how soon a person has to know. An escalation is as urgent as its request
    /// says.
    pub const fn urgency(self, escalation: Option<Urgency>) -> NoticeUrgency {
        match (self, escalation) {
            (
                Self::CreditsExhausted
                | Self::ModelsFailed
                | Self::NoBinding
                | Self::EscalationUnanswered,
                _,
            )
            | (Self::Escalation | Self::EscalationReminder, Some(Urgency::High)) => {
                NoticeUrgency::Urgent
            }
            _ => NoticeUrgency::Normal,
        }
    }

    /// Returns whether the cooldown since the last notice is over.
    pub fn is_due(self, last_sent: Option<Timestamp>, now: Timestamp) -> bool {
        last_sent.is_none_or(|at| now.since(at) >= self.cooldown())
    }
}

/// Returns the share that spending has brought the balance down to, if it is a new
/// one.
pub fn low_credits_reached(
    monthly: Credits,
    before: Credits,
    after: Credits,
) -> Option<LowCredits> {
    let level = |balance: Credits| {
        if monthly.is_zero() {
            None
        } else if balance.is_zero() {
            Some(LowCredits::Empty)
        } else if balance <= percent_of(monthly, 10) {
            Some(LowCredits::Percent10)
        } else if balance <= percent_of(monthly, 20) {
            Some(LowCredits::Percent20)
        } else {
            None
        }
    };
    level(after).filter(|reached| level(before) < Some(*reached))
}

/// A recipient of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeRecipient {
    /// The customer of the conversation.
    Customer,
    Owner,
    /// A person of the org.
    User(UserId),
    /// An agent, through its next prompt.
    Agent(AgentId),
}

/// Returns the recipients when credits are exhausted: the customer, the owner and
/// every participating agent.
pub fn exhaustion_recipients(
    agents: impl IntoIterator<Item = AgentId>,
) -> BTreeSet<NoticeRecipient> {
    [NoticeRecipient::Customer, NoticeRecipient::Owner]
        .into_iter()
        .chain(agents.into_iter().map(NoticeRecipient::Agent))
        .collect()
}

#[cfg(test)]
mod tests;
