//! A session, as it is stored.

use ostler_domain::channel::Channel;
use ostler_domain::human::escalation::Escalation;
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::{
    AgentId, ApprovalId, BindingId, ContactId, ConversationId, EscalationId, OrgId, SessionId,
    ThreadId,
};
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::session::errors::ErrorState;
use ostler_domain::session::guided::{InterviewState, InterviewTemplate, NextStep};
use ostler_domain::session::key::{ConversationKey, Entry, Peer};
use ostler_domain::session::lifetime::{CloseReason, CurrentSession, SessionClock, Waiting};
use ostler_domain::session::status::{SessionStatus, StatusChange};
use ostler_domain::team::{self, TeamSession, TeamView, effective_agent};
use ostler_domain::time::{Timestamp, UtcDay};
use serde::{Deserialize, Serialize};

use super::asked::Asked;

/// The form that this program writes.
const VERSION: u32 = 1;

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The version of this form.
    pub v: u32,
    /// Its id.
    pub id: SessionId,
    /// The tenant.
    pub org: OrgId,
    /// The conversation that it is the current life of.
    pub conversation: ConversationId,
    /// Its messages.
    pub thread: ThreadId,
    /// The channel.
    pub channel: Channel,
    /// The binding.
    pub binding: BindingId,
    /// Whom the org talks to.
    pub peer: Peer,
    /// How they came in.
    pub entry: Entry,
    /// The agent that it began with; none if nobody could answer.
    pub agent: Option<AgentId>,
    /// Their name, as far as it is known.
    pub name: Option<String>,
    /// The contact they are recognized as.
    pub contact: Option<ContactId>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// Its clocks.
    pub clock: SessionClock,
    /// Whether an agent answers.
    pub status: SessionStatus,
    /// What went wrong.
    pub errors: ErrorState,
    /// What it may spend and has spent.
    pub budget: SessionBudget,
    /// The team, if several agents take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamSession>,
    /// The last time that a person was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<OpenEscalation>,
    /// When the last escalation ended: what led to it does not count again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calm_since: Option<Timestamp>,
    /// Uncertain replies since then.
    #[serde(default)]
    pub uncertain: u32,
    /// What a person resolved, for the next prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    /// The session before this one, if this one goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Previous>,
    /// What it was about, once it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The day on which the customer was last told of a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_limit_on: Option<UtcDay>,
    /// The message of the bus that it answers, or answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<Asked>>,
    /// The interview, in a guided session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interview: Option<Interview>,
    /// Decisions on calls that came while a person had the conversation: the
    /// agent goes on with them when it has it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<ApprovalId>,
    /// How many messages it has.
    #[serde(default)]
    pub messages: u32,
    /// Calls that people are to decide on.
    #[serde(default)]
    pub pending_approvals: u32,
    /// Calls of which nobody knows what became.
    #[serde(default)]
    pub unknown_outcomes: u32,
}

/// An escalation of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEscalation {
    /// Its id.
    pub id: EscalationId,
    /// What led to it, if it began by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: Escalation,
}

/// The session before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Previous {
    /// Which one.
    pub session: SessionId,
    /// What it was about.
    pub summary: Option<String>,
}

/// A guided session's interview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interview {
    /// The questions.
    pub template: InterviewTemplate,
    /// How far it is.
    pub state: InterviewState,
}

/// What a new session begins with.
#[derive(Debug, Clone)]
pub(crate) struct Opening<'a> {
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
    /// The key of its conversation.
    pub fn key(&self) -> ConversationKey {
        let Self { org, binding, entry, .. } = *self;
        ConversationKey { org, binding, peer: self.peer.clone(), entry }
    }

    /// A session that opens now.
    pub(crate) fn open(opening: Opening<'_>) -> Self {
        let Opening { id, thread, conversation, key, channel, agent, budget, now } = opening;
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
            calm_since: None,
            uncertain: 0,
            resolution: None,
            previous: None,
            summary: None,
            told_limit_on: None,
            asked: None,
            interview: None,
            decided: Vec::new(),
            messages: 0,
            pending_approvals: 0,
            unknown_outcomes: 0,
        }
    }

    /// Who answers.
    pub fn active_agent(&self) -> Option<AgentId> {
        self.agent.map(|agent| effective_agent(agent, self.team.as_ref()))
    }

    /// The escalation that is open, if one is.
    pub fn open_escalation(&self) -> Option<&OpenEscalation> {
        self.escalation.as_ref().filter(|one| one.state.status.is_open())
    }

    /// The team and the person, as one reads them together.
    pub fn team_view(&self) -> Option<TeamView<'_>> {
        let escalation = self.escalation.as_ref().map(|one| &one.state);
        self.agent.map(|agent| team::view(agent, self.team.as_ref(), escalation))
    }

    /// The session, as far as its end is concerned.
    pub(crate) const fn current(&self) -> CurrentSession {
        CurrentSession { id: self.id, clock: self.clock, status: self.status }
    }

    /// Closes it, and says whether it was open. A guided session that has all its
    /// answers was completed, however long ago that was.
    pub(crate) fn close(&mut self, reason: CloseReason) -> bool {
        let reason = match reason {
            CloseReason::IdleTimeout | CloseReason::Expired if self.is_completed() => {
                CloseReason::Completed
            }
            reason => reason,
        };
        match self.status.after(StatusChange::Close(reason)) {
            Ok(status) => {
                self.status = status;
                true
            }
            Err(_) => false,
        }
    }

    /// Whether its interview has all the answers.
    pub(crate) fn is_completed(&self) -> bool {
        let next = self.interview.as_ref().map(|one| one.state.next(&one.template));
        next == Some(NextStep::Complete)
    }

    /// Stops or starts the clocks by what the session waits for.
    pub(crate) fn sync_clock(&mut self, now: Timestamp) {
        let waiting = Waiting {
            handed_off: self.status == SessionStatus::HandedOff,
            pending_approvals: self.pending_approvals as usize,
            unknown_outcomes: self.unknown_outcomes as usize,
        };
        self.clock.sync(waiting, now);
    }

    /// Spends what another form of the session has spent since it was read.
    pub(crate) fn spend_as(&mut self, before: &Self, after: &Self) {
        self.budget.record(after.budget.spent.saturating_sub(before.budget.spent));
        let (Some(team), Some(after)) = (&mut self.team, &after.team) else { return };
        let spent = before.team.as_ref().map(|team| &team.budget.per_agent);
        for (agent, credits) in &after.budget.per_agent {
            let earlier = spent.and_then(|spent| spent.get(agent)).copied().unwrap_or_default();
            team.budget.record(*agent, credits.saturating_sub(earlier));
        }
    }

    /// The word that a session is found by.
    pub(crate) const fn status_word(&self) -> &'static str {
        match self.status {
            SessionStatus::Active => "active",
            SessionStatus::HandedOff => "handed_off",
            SessionStatus::Closed(_) => "closed",
        }
    }
}
