//! Escalations to a human: a state machine without I/O.
//!
//! An event returns the new status and the effects to perform. An event that the
//! status does not allow is refused and changes nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::UserId;
use crate::team::config::{AutoResume, TeamConfig, UnansweredPolicy};
use crate::time::Timestamp;

/// The urgency of an escalation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    Low,
    Normal,
    High,
}

impl Urgency {
    /// Returns the name that is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

/// A text that is not an urgency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an urgency; use high, normal or low")]
pub struct InvalidUrgency(String);

impl std::str::FromStr for Urgency {
    type Err = InvalidUrgency;

    fn from_str(text: &str) -> Result<Self, InvalidUrgency> {
        match text {
            "high" => Ok(Self::High),
            "normal" => Ok(Self::Normal),
            "low" => Ok(Self::Low),
            _ => Err(InvalidUrgency(text.to_owned())),
        }
    }
}

/// The status of an escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EscalationStatus {
    /// Waiting for a person.
    Pending,
    /// A person is talking to the customer.
    TakenOver,
    /// A person has handed the conversation back.
    Resolved,
    /// Dismissed as a false alarm.
    Dismissed,
    /// Nobody answered in time, and the agent resumed.
    TimedOut,
}

impl EscalationStatus {
    /// Returns whether the escalation is open, so that the agent stays silent.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::TakenOver)
    }
}

/// A request for a human.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationRequest {
    pub reason: String,
    /// The urgency of an escalation.
    pub urgency: Urgency,
    pub context_summary: String,
}

/// An escalation of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    pub request: EscalationRequest,
    pub status: EscalationStatus,
    pub requested_at: Timestamp,
    pub human: Option<UserId>,
    pub taken_over_at: Option<Timestamp>,
    pub last_human_message_at: Option<Timestamp>,
    email_sent: bool,
    reminded: bool,
}

/// An event in the life of an escalation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EscalationEvent {
    TakeOver(UserId),
    /// A person writes in the team's group or on the dashboard.
    HumanMessage(UserId),
    CustomerMessage,
    /// A person hands the conversation back with `@agent resume` or the button.
    Resume,
    /// A person dismisses the escalation as a false alarm.
    Dismiss,
    Tick,
}

/// An effect for the runtime to perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationEffect {
    /// The session becomes `handed_off`, and the agent falls silent.
    HandOffSession,
    /// The customer is asked to wait for a person.
    TellCustomerToWait,
    /// The owner gets a message with buttons to take over and to dismiss.
    NotifyOwner,
    /// The team's group gets a message.
    NotifyTeamGroup,
    /// The dashboard's queue shows it.
    ShowOnDashboard,
    SendEmail,
    Remind,
    /// The person's message is delivered to the customer word for word.
    DeliverToCustomer,
    /// The customer's message is forwarded to the person.
    ForwardToHuman,
    /// The session becomes `active` again.
    ActivateSession,
    /// The conversation returns to its primary agent.
    ReturnToPrimary,
    /// The person's messages become part of the next prompt.
    InjectResolution,
    /// The dismissal is recorded as a false positive.
    RecordFalsePositive,
    /// The agent answers the messages that the customer has written meanwhile, if nobody has.
    AgentAnswers,
}

/// The reason why an event is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EscalationError {
    #[error("this conversation is not handed over to a human; take it over first")]
    NotOpen,
    #[error("nobody has taken this conversation over yet")]
    NotTakenOver,
    /// A person has taken over, so it cannot be dismissed.
    #[error("a person has taken this conversation over; hand it back instead")]
    TakenOver,
    #[error("{0} has taken this conversation over")]
    TakenOverByOther(UserId),
}

use EscalationEffect::{
    ActivateSession, AgentAnswers, DeliverToCustomer, ForwardToHuman, HandOffSession,
    InjectResolution, NotifyOwner, NotifyTeamGroup, RecordFalsePositive, Remind, ReturnToPrimary,
    SendEmail, ShowOnDashboard, TellCustomerToWait,
};
use EscalationStatus::{Dismissed, Pending, Resolved, TakenOver, TimedOut};

impl Escalation {
    /// Begins an escalation. Returns it with its effects, or `None` if the session has
    /// an open escalation.
    pub fn begin(
        current: Option<&Self>,
        request: EscalationRequest,
        config: &TeamConfig,
        now: Timestamp,
    ) -> Option<(Self, Vec<EscalationEffect>)> {
        if current.is_some_and(|current| current.status.is_open()) {
            return None;
        }
        let mut effects = vec![HandOffSession, TellCustomerToWait, NotifyOwner, ShowOnDashboard];
        if config.team_group_enabled {
            effects.push(NotifyTeamGroup);
        }
        let escalation = Self {
            request,
            status: Pending,
            requested_at: now,
            human: None,
            taken_over_at: None,
            last_human_message_at: None,
            email_sent: false,
            reminded: false,
        };
        Some((escalation, effects))
    }

    /// Begins an escalation that a person takes over at once, without a request.
    /// Returns `None` if the session has an open escalation, which is to be taken over
    /// instead.
    pub fn begin_takeover(
        current: Option<&Self>,
        user: UserId,
        now: Timestamp,
    ) -> Option<(Self, Vec<EscalationEffect>)> {
        if current.is_some_and(|current| current.status.is_open()) {
            return None;
        }
        let request = EscalationRequest {
            reason: "taken over by an operator".into(),
            urgency: Urgency::Normal,
            context_summary: String::new(),
        };
        let escalation = Self {
            request,
            status: TakenOver,
            requested_at: now,
            human: Some(user),
            taken_over_at: Some(now),
            last_human_message_at: None,
            email_sent: false,
            reminded: false,
        };
        Some((escalation, vec![HandOffSession]))
    }

    /// Applies an event and returns the effects to perform. Fails if the status does
    /// not allow it.
    pub fn apply(
        &mut self,
        event: &EscalationEvent,
        config: &TeamConfig,
        now: Timestamp,
    ) -> Result<Vec<EscalationEffect>, EscalationError> {
        if !self.status.is_open() {
            // Only a tick is allowed after the end, and does nothing.
            return if *event == EscalationEvent::Tick {
                Ok(vec![])
            } else {
                Err(EscalationError::NotOpen)
            };
        }
        match event {
            EscalationEvent::TakeOver(user) => self.take_over(*user, now),
            EscalationEvent::HumanMessage(user) => self.human_message(*user, now),
            EscalationEvent::CustomerMessage => Ok(self.customer_message()),
            EscalationEvent::Resume => self.resume(),
            EscalationEvent::Dismiss => self.dismiss(),
            EscalationEvent::Tick => Ok(self.tick(config, now)),
        }
    }

    /// Returns when the next tick has an effect, if ever.
    pub fn next_tick_at(&self, config: &TeamConfig) -> Option<Timestamp> {
        match self.status {
            Pending => {
                let email = self.request.urgency == Urgency::High && !self.email_sent;
                let email = email.then_some(self.requested_at + config.email_after);
                let unanswered = match config.unanswered {
                    UnansweredPolicy::ResumeAfterSecs(limit) => Some(self.requested_at + limit),
                    UnansweredPolicy::RemindAfterSecs(limit) => {
                        (!self.reminded).then_some(self.requested_at + limit)
                    }
                };
                email.into_iter().chain(unanswered).min()
            }
            TakenOver => match config.auto_resume_after_human {
                AutoResume::Never => None,
                AutoResume::AfterSecs(limit) => Some(self.last_human_activity() + limit),
            },
            Resolved | Dismissed | TimedOut => None,
        }
    }

    /// Returns the time of the person's last action.
    fn last_human_activity(&self) -> Timestamp {
        self.last_human_message_at.or(self.taken_over_at).unwrap_or(self.requested_at)
    }

    fn take_over(
        &mut self,
        user: UserId,
        now: Timestamp,
    ) -> Result<Vec<EscalationEffect>, EscalationError> {
        match self.human {
            Some(other) if other != user => Err(EscalationError::TakenOverByOther(other)),
            Some(_) => Ok(vec![]),
            None => {
                self.status = TakenOver;
                self.human = Some(user);
                self.taken_over_at = Some(now);
                Ok(vec![])
            }
        }
    }

    /// A message to the customer also takes over.
    fn human_message(
        &mut self,
        user: UserId,
        now: Timestamp,
    ) -> Result<Vec<EscalationEffect>, EscalationError> {
        self.take_over(user, now)?;
        self.last_human_message_at = Some(now);
        Ok(vec![DeliverToCustomer])
    }

    fn customer_message(&self) -> Vec<EscalationEffect> {
        if self.status == TakenOver {
            vec![ForwardToHuman]
        } else {
            vec![TellCustomerToWait, ShowOnDashboard]
        }
    }

    fn resume(&mut self) -> Result<Vec<EscalationEffect>, EscalationError> {
        if self.status != TakenOver {
            return Err(EscalationError::NotTakenOver);
        }
        self.status = Resolved;
        Ok(vec![ActivateSession, ReturnToPrimary, InjectResolution, AgentAnswers])
    }

    fn dismiss(&mut self) -> Result<Vec<EscalationEffect>, EscalationError> {
        if self.status == TakenOver {
            return Err(EscalationError::TakenOver);
        }
        self.status = Dismissed;
        Ok(vec![ActivateSession, RecordFalsePositive, AgentAnswers])
    }

    fn tick(&mut self, config: &TeamConfig, now: Timestamp) -> Vec<EscalationEffect> {
        match self.status {
            Pending => self.tick_pending(config, now),
            TakenOver => self.tick_taken_over(config, now),
            Resolved | Dismissed | TimedOut => vec![],
        }
    }

    fn tick_pending(&mut self, config: &TeamConfig, now: Timestamp) -> Vec<EscalationEffect> {
        let waited = now.since(self.requested_at);
        if let UnansweredPolicy::ResumeAfterSecs(limit) = config.unanswered
            && waited >= limit
        {
            self.status = TimedOut;
            return vec![ActivateSession, AgentAnswers];
        }
        let mut effects = vec![];
        if self.request.urgency == Urgency::High && waited >= config.email_after && !self.email_sent
        {
            self.email_sent = true;
            effects.push(SendEmail);
        }
        if let UnansweredPolicy::RemindAfterSecs(limit) = config.unanswered
            && waited >= limit
            && !self.reminded
        {
            self.reminded = true;
            effects.push(Remind);
        }
        effects
    }

    /// With auto-resume the agent resumes once the person has been silent for long
    /// enough; otherwise never.
    fn tick_taken_over(&mut self, config: &TeamConfig, now: Timestamp) -> Vec<EscalationEffect> {
        let last = self.last_human_activity();
        match config.auto_resume_after_human {
            AutoResume::AfterSecs(limit) if now.since(last) >= limit => {
                self.status = Resolved;
                vec![ActivateSession, ReturnToPrimary, InjectResolution, AgentAnswers]
            }
            _ => vec![],
        }
    }
}

/// Returns whether a message in the team's group is the command to hand back.
pub fn is_resume_command(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words == ["@agent", "resume"]
}

/// Returns the sort key of the dashboard queue: the most urgent first, then the
/// oldest.
pub fn queue_order(escalation: &Escalation) -> (std::cmp::Reverse<Urgency>, Timestamp) {
    (std::cmp::Reverse(escalation.request.urgency), escalation.requested_at)
}

#[cfg(test)]
mod tests;
