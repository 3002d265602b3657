//! Lifetime of a session: idle timeout and maximum age, both paused while the session
//! waits for a person, and what happens at its end.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::SessionStatus;
use crate::channel::Channel;
use crate::id::SessionId;
use crate::time::Timestamp;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How often idle sessions are swept.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(15 * MINUTE);

/// Idle timeout and maximum age of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lifetime {
    #[serde(rename = "idle_secs", with = "crate::time::secs")]
    #[schemars(with = "u64")]
    pub idle: Duration,
    #[serde(rename = "longest_secs", with = "crate::time::secs")]
    #[schemars(with = "u64")]
    pub max_age: Duration,
}

impl Lifetime {
    /// Returns the default of a channel.
    pub const fn default_for(channel: &Channel) -> Self {
        let (idle, max_age) = match channel {
            Channel::Webchat => (30 * MINUTE, 2 * HOUR),
            Channel::Sms => (HOUR, DAY),
            Channel::Email => (72 * HOUR, 14 * DAY),
            _ => (DAY, 7 * DAY),
        };
        Self { idle: Duration::from_secs(idle), max_age: Duration::from_secs(max_age) }
    }
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// Nobody wrote for too long.
    IdleTimeout,
    /// The session reached its maximum age.
    Expired,
    ClosedByOperator,
    /// Nothing more is expected: a guided session is complete, or a request is answered.
    Completed,
}

/// The idle and age clocks of a session. Both are paused while it is handed off or an
/// approval or unknown outcome is pending, so that a waiting customer never loses the
/// conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionClock {
    age_from: Timestamp,
    idle_from: Timestamp,
    paused_since: Option<Timestamp>,
}

impl SessionClock {
    /// Creates the clock of a session that opens now.
    pub const fn open(now: Timestamp) -> Self {
        Self { age_from: now, idle_from: now, paused_since: None }
    }

    /// Records a message. A node whose clock is behind does not move it back.
    pub fn touch(&mut self, now: Timestamp) {
        self.idle_from = self.idle_from.max(now);
    }

    /// Pauses both clocks while the session waits for a person, and resumes them as if no
    /// time had passed.
    pub fn sync(&mut self, waiting: PauseReasons, now: Timestamp) {
        if waiting.is_paused() {
            self.paused_since.get_or_insert(now);
        } else if let Some(since) = self.paused_since.take() {
            self.age_from = self.age_from + now.since(since);
            self.idle_from = self.idle_from + now.since(since.max(self.idle_from));
        }
    }

    /// Returns why the session should close now, if it should. The maximum age takes
    /// precedence over the idle timeout.
    pub fn close_reason(&self, lifetime: Lifetime, now: Timestamp) -> Option<CloseReason> {
        let at = self.paused_since.unwrap_or(now);
        if at.since(self.age_from) > lifetime.max_age {
            Some(CloseReason::Expired)
        } else if at.since(self.idle_from) > lifetime.idle {
            Some(CloseReason::IdleTimeout)
        } else {
            None
        }
    }

    /// Returns when the session closes if nobody writes, or `None` while it is paused.
    pub fn expires_at(&self, lifetime: Lifetime) -> Option<Timestamp> {
        let ends = (self.age_from + lifetime.max_age).min(self.idle_from + lifetime.idle);
        self.paused_since.is_none().then_some(ends)
    }
}

/// What pauses the clocks of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PauseReasons {
    /// Whether a person answers, or is asked to.
    pub handed_off: bool,
    pub pending_approvals: usize,
    /// Tool calls that may or may not have taken effect.
    pub unknown_outcomes: usize,
}

impl PauseReasons {
    /// Returns whether anything pauses the clocks.
    pub const fn is_paused(self) -> bool {
        self.handed_off || self.pending_approvals > 0 || self.unknown_outcomes > 0
    }
}

/// What a message after the end of a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReopenPolicy {
    /// Opens a session without any context of the last one.
    #[default]
    NewSession,
    /// Opens a session with the summary of the last one in its prompt.
    Resume,
}

/// The newest session of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentSession {
    pub id: SessionId,
    pub clock: SessionClock,
    pub status: SessionStatus,
}

/// The session that a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionResolution {
    Reuse(SessionId),
    Open {
        /// The session to close first, and why.
        close: Option<(SessionId, CloseReason)>,
        /// The session whose summary the new one gets.
        previous: Option<SessionId>,
    },
}

/// Returns why a session should close now, if it should. Only an active session closes
/// by itself. The sweep calls this without any message.
pub fn due_to_close(
    session: &CurrentSession,
    lifetime: Lifetime,
    now: Timestamp,
) -> Option<CloseReason> {
    match session.status {
        SessionStatus::Active => session.clock.close_reason(lifetime, now),
        SessionStatus::HandedOff | SessionStatus::Closed(_) => None,
    }
}

/// Returns the session that a message belongs to.
pub fn resolve_session(
    current: Option<CurrentSession>,
    lifetime: Lifetime,
    policy: ReopenPolicy,
    now: Timestamp,
) -> SessionResolution {
    let Some(session) = current else {
        return SessionResolution::Open { close: None, previous: None };
    };
    let close = due_to_close(&session, lifetime, now).map(|reason| (session.id, reason));
    let closed = matches!(session.status, SessionStatus::Closed(_));
    if close.is_none() && !closed {
        return SessionResolution::Reuse(session.id);
    }
    let previous = (policy == ReopenPolicy::Resume).then_some(session.id);
    SessionResolution::Open { close, previous }
}

/// What happens to the messages of a closed session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClosePolicy {
    #[default]
    Archive,
    /// Kept, with a summary.
    SummarizeAndArchive,
}

impl ClosePolicy {
    /// Returns whether a session with this many messages gets a summary when it closes.
    pub const fn summarizes(self, messages: usize) -> bool {
        matches!(self, Self::SummarizeAndArchive) && messages > 2
    }
}

#[cfg(test)]
mod tests;
