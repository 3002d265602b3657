//! Sessions, as they are stored.

use ostler_channels::email_thread::EmailThread;
use ostler_domain::channel::Channel;
use ostler_domain::human::escalation::Escalation;
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::{
    AgentId, ApprovalId, BindingId, ContactId, ConversationId, EscalationId, OrgId, SessionId,
    ThreadId,
};
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::session::errors::ErrorState;
use ostler_domain::session::guided::{InterviewState, InterviewStep, InterviewTemplate};
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_domain::session::lifetime::{CloseReason, CurrentSession, PauseReasons, SessionClock};
use ostler_domain::session::status::{SessionStatus, StatusChange};
use ostler_domain::team::{self, TeamSession, TeamView, effective_agent};
use ostler_domain::time::{Timestamp, UtcDay};
use ostler_domain::tool::Audience;
use ostler_store::{OrgStore, SessionState, StoreError};
use serde::{Deserialize, Serialize};

use super::api_request::api_channel;
use super::bus_request::BusRequest;
use super::encode;

/// The version of the format.
const VERSION: u32 = 1;

/// A session of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The version of the format.
    pub v: u32,
    pub id: SessionId,
    pub org: OrgId,
    pub conversation: ConversationId,
    pub thread: ThreadId,
    pub channel: Channel,
    pub binding: BindingId,
    pub peer: Peer,
    pub entry: ConversationEntry,
    /// The agent that it began with; `None` if nobody could answer.
    pub agent: Option<AgentId>,
    /// The customer's name, if the channel knows it.
    pub name: Option<String>,
    pub contact: Option<ContactId>,
    pub opened_at: Timestamp,
    pub clock: SessionClock,
    pub status: SessionStatus,
    /// Failures of tools and models.
    pub errors: ErrorState,
    pub budget: SessionBudget,
    /// Set if several agents take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamSession>,
    /// The last escalation, open or ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<OpenEscalation>,
    /// When the last escalation ended; what happened before does not trigger another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_escalation_end: Option<Timestamp>,
    /// Uncertain replies since the last escalation ended.
    #[serde(default)]
    pub uncertain_replies: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    /// The session before this one, if this one continues its topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousSession>,
    /// Written when the session closes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The day on which the customer was last told of the agent's limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_notice_day: Option<UtcDay>,
    /// The last request from the bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_request: Option<Box<BusRequest>>,
    /// The e-mail thread up to the last mail of the customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_thread: Option<Box<EmailThread>>,
    /// Set in a guided session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interview: Option<Interview>,
    /// Decisions made while a person had the conversation; the agent continues with them when
    /// it has the conversation again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_decisions: Vec<ApprovalId>,
    /// News for the agent that came while a person had the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_notes: Vec<String>,
    /// The number of messages.
    #[serde(default)]
    pub messages: u32,
    #[serde(default)]
    pub pending_approvals: u32,
    #[serde(default)]
    pub unknown_outcomes: u32,
}

/// An escalation of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEscalation {
    pub id: EscalationId,
    /// The triggers that caused it; empty if an agent or a person began it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
    /// When the newest message was written that a person found who took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_until: Option<Timestamp>,
    #[serde(flatten)]
    pub state: Escalation,
}

/// The session before another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousSession {
    pub session: SessionId,
    pub summary: Option<String>,
}

/// The interview of a guided session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interview {
    pub template: InterviewTemplate,
    pub state: InterviewState,
    /// Set if it signs up a stranger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_up: Option<SignUpProgress>,
}

/// How far the sign-up of a stranger is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignUpProgress {
    Asking,
    /// The organization was made, or refused.
    Finished,
}

/// The values of a new session.
#[derive(Debug, Clone)]
pub(crate) struct NewSession<'a> {
    pub(crate) id: SessionId,
    pub(crate) thread: ThreadId,
    pub(crate) conversation: ConversationId,
    pub(crate) key: &'a ConversationKey,
    pub(crate) channel: Channel,
    pub(crate) agent: Option<AgentId>,
    pub(crate) budget: SessionBudget,
    pub(crate) now: Timestamp,
}

impl Session {
    /// Returns for whom its agents work.
    pub fn audience(&self) -> Audience {
        self.entry.audience(self.bus_request.is_some())
    }

    /// Returns whether its messages are requests over the API, whose callers wait for the
    /// answers.
    pub fn is_api(&self) -> bool {
        self.channel == api_channel()
    }

    /// Returns whether its messages name the agent that answers, and nobody answers in its
    /// place.
    pub(crate) fn names_its_agent(&self) -> bool {
        self.entry == ConversationEntry::Testing || self.bus_request.is_some() || self.is_api()
    }

    /// Returns the key of the conversation.
    pub fn key(&self) -> ConversationKey {
        let Self { org, binding, entry, .. } = *self;
        ConversationKey { org, binding, peer: self.peer.clone(), entry }
    }

    /// Opens a session.
    pub(crate) fn open(opening: NewSession<'_>) -> Self {
        let NewSession { id, thread, conversation, key, channel, agent, budget, now } = opening;
        Self {
            v: VERSION,
            id,
            org: key.org,
            conversation,
            thread,
            channel,
            binding: key.binding,
            peer: key.peer.clone(),
            entry: key.entry,
            agent,
            name: None,
            contact: None,
            opened_at: now,
            clock: SessionClock::open(now),
            status: SessionStatus::Active,
            errors: ErrorState::default(),
            budget,
            team: None,
            escalation: None,
            last_escalation_end: None,
            uncertain_replies: 0,
            resolution: None,
            previous: None,
            summary: None,
            limit_notice_day: None,
            bus_request: None,
            interview: None,
            pending_decisions: Vec::new(),
            email_thread: None,
            pending_notes: Vec::new(),
            messages: 0,
            pending_approvals: 0,
            unknown_outcomes: 0,
        }
    }

    /// Returns the agent that answers.
    pub fn active_agent(&self) -> Option<AgentId> {
        self.agent.map(|agent| effective_agent(agent, self.team.as_ref()))
    }

    /// Returns the escalation if it is open.
    pub fn open_escalation(&self) -> Option<&OpenEscalation> {
        self.escalation.as_ref().filter(|one| one.state.status.is_open())
    }

    /// Returns the team and the escalation in one view.
    pub fn team_view(&self) -> Option<TeamView<'_>> {
        let escalation = self.escalation.as_ref().map(|one| &one.state);
        self.agent.map(|agent| team::team_view(agent, self.team.as_ref(), escalation))
    }

    /// Returns the facts that decide when the session ends.
    pub(crate) const fn lifetime_facts(&self) -> CurrentSession {
        CurrentSession { id: self.id, clock: self.clock, status: self.status }
    }

    /// Closes the session and returns whether it was open. A guided session with all answers
    /// closes as completed, even if it expired.
    pub(crate) fn close(&mut self, reason: CloseReason) -> bool {
        let reason = match reason {
            CloseReason::IdleTimeout | CloseReason::Expired if self.interview_is_complete() => {
                CloseReason::Completed
            }
            reason => reason,
        };
        match self.status.after(StatusChange::Close(reason)) {
            Ok(status) => {
                self.status = status;
                self.drop_approvals();
                true
            }
            Err(_) => false,
        }
    }

    /// Counts the session's open approvals and unknown outcomes again: people may have
    /// settled some since it was stored.
    pub async fn refresh_counts(&mut self, store: OrgStore<'_>) -> Result<(), StoreError> {
        if self.pending_approvals > 0 {
            let pending = store.count_pending_approvals(Some(self.id)).await?;
            self.pending_approvals = u32::try_from(pending).unwrap_or(u32::MAX);
        }
        if self.unknown_outcomes > 0 {
            let unknown = store.count_unknown_outcomes(self.conversation).await?;
            self.unknown_outcomes = u32::try_from(unknown).unwrap_or(u32::MAX);
        }
        Ok(())
    }

    /// Drops the approvals that the session waits for. They end with it.
    pub(crate) fn drop_approvals(&mut self) {
        self.pending_approvals = 0;
        self.pending_decisions.clear();
    }

    /// Returns whether the interview has all its answers.
    pub(crate) fn interview_is_complete(&self) -> bool {
        let next = self.interview.as_ref().map(|one| one.state.next(&one.template));
        next == Some(InterviewStep::Complete)
    }

    /// Pauses or resumes the session's clock, depending on what the session waits for.
    pub(crate) fn sync_clock(&mut self, now: Timestamp) {
        let waiting = PauseReasons {
            handed_off: self.status == SessionStatus::HandedOff,
            pending_approvals: self.pending_approvals as usize,
            unknown_outcomes: self.unknown_outcomes as usize,
        };
        self.clock.sync(waiting, now);
    }

    /// Adds what was spent between two versions of the session.
    pub(crate) fn add_spending_between(&mut self, before: &Self, after: &Self) {
        self.budget.record(after.budget.spent.saturating_sub(before.budget.spent));
        let (Some(team), Some(after)) = (&mut self.team, &after.team) else { return };
        let spent = before.team.as_ref().map(|team| &team.budget.per_agent);
        for (agent, credits) in &after.budget.per_agent {
            let earlier = spent.and_then(|spent| spent.get(agent)).copied().unwrap_or_default();
            team.budget.record(*agent, credits.saturating_sub(earlier));
        }
    }

    /// Returns the row that the store keeps of the session.
    pub(crate) fn to_state(&self) -> SessionState {
        SessionState {
            id: self.id,
            thread: self.thread,
            status: self.status_name().to_owned(),
            data: encode(self),
        }
    }

    const fn status_name(&self) -> &'static str {
        match self.status {
            SessionStatus::Active => "active",
            SessionStatus::HandedOff => "handed_off",
            SessionStatus::Closed(_) => "closed",
        }
    }
}
