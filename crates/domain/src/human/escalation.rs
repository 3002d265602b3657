//! An escalation to a human: its statuses, and what each event does.
//!
//! A state machine without I/O: events in, the new status and the effects to
//! perform out. An event that the status does not allow is refused and
//! changes nothing.

use serde::{Deserialize, Serialize};

use crate::id::UserId;
use crate::team::config::{AutoResume, TeamConfig, Unanswered};
use crate::time::Timestamp;

/// How pressing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// When there is time.
    Low,
    /// Soon.
    Normal,
    /// Now.
    High,
}

/// The text is not an urgency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an urgency; use high, normal or low")]
pub struct BadUrgency(String);

impl std::str::FromStr for Urgency {
    type Err = BadUrgency;

    fn from_str(text: &str) -> Result<Self, BadUrgency> {
        match text {
            "high" => Ok(Self::High),
            "normal" => Ok(Self::Normal),
            "low" => Ok(Self::Low),
            _ => Err(BadUrgency(text.to_owned())),
        }
    }
}

/// Where an escalation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationStatus {
    /// Nobody has answered yet.
    Pending,
    /// A person is talking to the customer.
    TakenOver,
    /// A person has finished.
    Resolved,
    /// It was a false alarm.
    Dismissed,
    /// Nobody answered in time and the agent went on.
    TimedOut,
}

impl EscalationStatus {
    /// Whether the agent is silent.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::TakenOver)
    }
}

/// Why and how pressingly a human is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationRequest {
    /// Why.
    pub reason: String,
    /// How pressing it is.
    pub urgency: Urgency,
    /// What the person should know.
    pub context_summary: String,
}

/// An escalation, as it is kept on the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// Why and how pressingly.
    pub request: EscalationRequest,
    /// Where it stands.
    pub status: EscalationStatus,
    /// When it began.
    pub requested_at: Timestamp,
    /// The person who took over.
    pub human: Option<UserId>,
    /// When the person took over.
    pub taken_over_at: Option<Timestamp>,
    /// When the person last wrote.
    pub last_human_message_at: Option<Timestamp>,
    email_sent: bool,
    reminded: bool,
}

/// What can happen to an escalation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A person takes the conversation over.
    TakeOver(UserId),
    /// A person writes in the team's group or on the dashboard.
    HumanMessage(UserId),
    /// The customer writes.
    CustomerMessage,
    /// A person hands back with `@agent resume` or the button.
    Resume,
    /// A person calls it a false alarm.
    Dismiss,
    /// Time passes.
    Tick,
}

/// What the runtime does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The session becomes `handed_off` and the agent falls silent.
    HandOffSession,
    /// The customer is told that somebody is coming.
    TellCustomerToWait,
    /// The owner gets a message with buttons to take over and to dismiss.
    NotifyOwner,
    /// The team's group gets a message.
    NotifyTeamGroup,
    /// The dashboard's queue shows it.
    ShowOnDashboard,
    /// The owner gets an e-mail.
    SendEmail,
    /// The owner is reminded.
    Remind,
    /// The human's message goes to the customer, word for word.
    DeliverToCustomer,
    /// The customer's message goes to the human.
    ForwardToHuman,
    /// The session becomes `active` again.
    ActivateSession,
    /// The conversation goes back to the agent it began with.
    ReturnToPrimary,
    /// What the human said becomes part of the next prompt.
    InjectResolution,
    /// The dismissal is recorded as a false positive.
    RecordFalsePositive,
    /// The agent answers what the customer has written meanwhile.
    AgentAnswers,
}

/// An event that the status does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EscalationError {
    /// The escalation is over.
    #[error("this conversation is not handed over to a human; take it over first")]
    NotOpen,
    /// The person has not taken over.
    #[error("nobody has taken this conversation over yet")]
    NotTakenOver,
    /// A person is in charge already, so it was no false alarm.
    #[error("a person has taken this conversation over; hand it back instead")]
    TakenOver,
    /// Another person is in charge.
    #[error("{0} has taken this conversation over")]
    SomebodyElse(UserId),
}

use Effect::{
    ActivateSession, AgentAnswers, DeliverToCustomer, ForwardToHuman, HandOffSession,
    InjectResolution, NotifyOwner, NotifyTeamGroup, RecordFalsePositive, Remind, ReturnToPrimary,
    SendEmail, ShowOnDashboard, TellCustomerToWait,
};
use EscalationStatus::{Dismissed, Pending, Resolved, TakenOver, TimedOut};

impl Escalation {
    /// Asks for a human: the flag, the status and the notices in one step.
    /// Nothing happens while the session's current escalation is open.
    pub fn begin(
        current: Option<&Self>,
        request: EscalationRequest,
        config: &TeamConfig,
        now: Timestamp,
    ) -> Option<(Self, Vec<Effect>)> {
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

    /// A person takes over a conversation that nobody had escalated. Nothing
    /// happens while an escalation is open: that one is taken over instead.
    pub fn begin_taken_over(
        current: Option<&Self>,
        user: UserId,
        now: Timestamp,
    ) -> Option<(Self, Vec<Effect>)> {
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

    /// Takes an event and says what to do about it.
    pub fn on(
        &mut self,
        event: &Event,
        config: &TeamConfig,
        now: Timestamp,
    ) -> Result<Vec<Effect>, EscalationError> {
        if !self.status.is_open() {
            // Time may pass for an escalation that is over; nothing else may.
            return if *event == Event::Tick { Ok(vec![]) } else { Err(EscalationError::NotOpen) };
        }
        match event {
            Event::TakeOver(user) => self.take_over(*user, now),
            Event::HumanMessage(user) => self.human_message(*user, now),
            Event::CustomerMessage => Ok(self.customer_message()),
            Event::Resume => self.resume(),
            Event::Dismiss => self.dismiss(),
            Event::Tick => Ok(self.tick(config, now)),
        }
    }

    /// When time does something to it next, if it ever does.
    pub fn next_tick(&self, config: &TeamConfig) -> Option<Timestamp> {
        match self.status {
            Pending => {
                let email = self.request.urgency == Urgency::High && !self.email_sent;
                let email = email.then_some(self.requested_at + config.email_after);
                let unanswered = match config.unanswered {
                    Unanswered::ResumeAfterSecs(limit) => Some(self.requested_at + limit),
                    Unanswered::RemindAfterSecs(limit) => {
                        (!self.reminded).then_some(self.requested_at + limit)
                    }
                };
                email.into_iter().chain(unanswered).min()
            }
            TakenOver => match config.auto_resume_after_human {
                AutoResume::Never => None,
                AutoResume::AfterSecs(limit) => Some(self.last_word() + limit),
            },
            Resolved | Dismissed | TimedOut => None,
        }
    }

    /// When the human last did something.
    fn last_word(&self) -> Timestamp {
        self.last_human_message_at.or(self.taken_over_at).unwrap_or(self.requested_at)
    }

    fn take_over(&mut self, user: UserId, now: Timestamp) -> Result<Vec<Effect>, EscalationError> {
        match self.human {
            Some(other) if other != user => Err(EscalationError::SomebodyElse(other)),
            Some(_) => Ok(vec![]),
            None => {
                self.status = TakenOver;
                self.human = Some(user);
                self.taken_over_at = Some(now);
                Ok(vec![])
            }
        }
    }

    /// Writing to the customer is taking over.
    fn human_message(
        &mut self,
        user: UserId,
        now: Timestamp,
    ) -> Result<Vec<Effect>, EscalationError> {
        self.take_over(user, now)?;
        self.last_human_message_at = Some(now);
        Ok(vec![DeliverToCustomer])
    }

    fn customer_message(&self) -> Vec<Effect> {
        if self.status == TakenOver {
            vec![ForwardToHuman]
        } else {
            vec![TellCustomerToWait, ShowOnDashboard]
        }
    }

    fn resume(&mut self) -> Result<Vec<Effect>, EscalationError> {
        if self.status != TakenOver {
            return Err(EscalationError::NotTakenOver);
        }
        self.status = Resolved;
        Ok(vec![ActivateSession, ReturnToPrimary, InjectResolution])
    }

    fn dismiss(&mut self) -> Result<Vec<Effect>, EscalationError> {
        if self.status == TakenOver {
            return Err(EscalationError::TakenOver);
        }
        self.status = Dismissed;
        Ok(vec![ActivateSession, RecordFalsePositive, AgentAnswers])
    }

    fn tick(&mut self, config: &TeamConfig, now: Timestamp) -> Vec<Effect> {
        match self.status {
            Pending => self.tick_pending(config, now),
            TakenOver => self.tick_taken_over(config, now),
            Resolved | Dismissed | TimedOut => vec![],
        }
    }

    fn tick_pending(&mut self, config: &TeamConfig, now: Timestamp) -> Vec<Effect> {
        let waited = now.since(self.requested_at);
        if let Unanswered::ResumeAfterSecs(limit) = config.unanswered
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
        if let Unanswered::RemindAfterSecs(limit) = config.unanswered
            && waited >= limit
            && !self.reminded
        {
            self.reminded = true;
            effects.push(Remind);
        }
        effects
    }

    /// With automatic resuming the agent goes on once the human has been
    /// silent for long enough; without it, never.
    fn tick_taken_over(&mut self, config: &TeamConfig, now: Timestamp) -> Vec<Effect> {
        let last = self.last_word();
        match config.auto_resume_after_human {
            AutoResume::AfterSecs(limit) if now.since(last) >= limit => {
                self.status = Resolved;
                vec![ActivateSession, ReturnToPrimary, InjectResolution]
            }
            _ => vec![],
        }
    }
}

/// Whether a text in the team's group hands the conversation back.
pub fn is_resume_command(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words == ["@agent", "resume"]
}

/// The order of the dashboard's queue: the most pressing first, then the oldest.
pub fn queue_order(escalation: &Escalation) -> (std::cmp::Reverse<Urgency>, Timestamp) {
    (std::cmp::Reverse(escalation.request.urgency), escalation.requested_at)
}

#[cfg(test)]
mod tests;
