//! How long a session lives: idle and longest time, paused while somebody
//! waits, and what happens at the end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::status::SessionStatus;
use crate::channel::Channel;
use crate::id::SessionId;
use crate::time::Timestamp;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How often stale sessions without traffic are looked for.
pub const SWEEP_EVERY: Duration = Duration::from_secs(15 * MINUTE);

/// How long a session may idle, and live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// The longest silence.
    #[serde(rename = "idle_secs", with = "crate::time::secs")]
    pub idle: Duration,
    /// The longest life.
    #[serde(rename = "longest_secs", with = "crate::time::secs")]
    pub longest: Duration,
}

impl Lifetime {
    /// The default of a channel.
    pub const fn of(channel: &Channel) -> Self {
        let (idle, longest) = match channel {
            Channel::Webchat => (30 * MINUTE, 2 * HOUR),
            Channel::Sms => (HOUR, DAY),
            Channel::Email => (72 * HOUR, 14 * DAY),
            _ => (DAY, 7 * DAY),
        };
        Self { idle: Duration::from_secs(idle), longest: Duration::from_secs(longest) }
    }
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// Nobody wrote for too long.
    IdleTimeout,
    /// It lived too long.
    Expired,
    /// An operator closed it.
    ClosedByOperator,
    /// A guided session reached its end.
    Completed,
}

/// The two clocks of a session. They stand still while it is handed off or an
/// approval or unknown outcome is pending: a waiting customer never loses the
/// conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionClock {
    age_from: Timestamp,
    idle_from: Timestamp,
    paused_since: Option<Timestamp>,
}

impl SessionClock {
    /// A session that opens now.
    pub const fn open(now: Timestamp) -> Self {
        Self { age_from: now, idle_from: now, paused_since: None }
    }

    /// Somebody wrote. A node whose clock is behind does not turn it back.
    pub fn touch(&mut self, now: Timestamp) {
        self.idle_from = self.idle_from.max(now);
    }

    /// Stops both clocks while the session waits for somebody, and starts them
    /// again, as if no time had passed, when it waits for nobody any more.
    pub fn sync(&mut self, waiting: Waiting, now: Timestamp) {
        if waiting.for_somebody() {
            self.paused_since.get_or_insert(now);
        } else if let Some(since) = self.paused_since.take() {
            self.age_from = self.age_from + now.since(since);
            self.idle_from = self.idle_from + now.since(since.max(self.idle_from));
        }
    }

    /// Whether the session should end now, and why. The longest life counts
    /// before silence when both are over.
    pub fn end(&self, lifetime: Lifetime, now: Timestamp) -> Option<CloseReason> {
        let at = self.paused_since.unwrap_or(now);
        if at.since(self.age_from) > lifetime.longest {
            Some(CloseReason::Expired)
        } else if at.since(self.idle_from) > lifetime.idle {
            Some(CloseReason::IdleTimeout)
        } else {
            None
        }
    }
}

impl SessionClock {
    /// When the session ends by itself if nobody writes; never while its clocks
    /// stand still.
    pub fn ends_at(&self, lifetime: Lifetime) -> Option<Timestamp> {
        let ends = (self.age_from + lifetime.longest).min(self.idle_from + lifetime.idle);
        self.paused_since.is_none().then_some(ends)
    }
}

/// What a session may be waiting for. It waits as long as any of them is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Whether a person answers, or is asked to.
    pub handed_off: bool,
    /// Approvals that nobody has decided.
    pub pending_approvals: usize,
    /// Effects of which nobody knows whether they happened.
    pub unknown_outcomes: usize,
}

impl Waiting {
    /// Whether it waits at all.
    pub const fn for_somebody(self) -> bool {
        self.handed_off || self.pending_approvals > 0 || self.unknown_outcomes > 0
    }
}

/// What a message after the end gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReopenPolicy {
    /// A session that knows nothing of the last one.
    #[default]
    NewSession,
    /// A session that has the last one's summary in its prompt.
    Resume,
}

/// The session that a conversation has, as far as its end is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentSession {
    /// Which one.
    pub id: SessionId,
    /// Its clocks.
    pub clock: SessionClock,
    /// Its status.
    pub status: SessionStatus,
}

/// Which session a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The current one.
    Reuse(SessionId),
    /// A new one.
    Open {
        /// The session to close first, and why.
        close: Option<(SessionId, CloseReason)>,
        /// The session whose summary the new one knows.
        previous: Option<SessionId>,
    },
}

/// Whether a session should be closed now, and why. The sweep asks this without
/// any message: only a session in which an agent answers ends by itself.
pub fn due_to_close(
    session: &CurrentSession,
    lifetime: Lifetime,
    now: Timestamp,
) -> Option<CloseReason> {
    match session.status {
        SessionStatus::Active => session.clock.end(lifetime, now),
        SessionStatus::HandedOff | SessionStatus::Closed(_) => None,
    }
}

/// Which session a message belongs to, given what the conversation has.
pub fn resolve(
    current: Option<CurrentSession>,
    lifetime: Lifetime,
    policy: ReopenPolicy,
    now: Timestamp,
) -> Resolution {
    let Some(session) = current else {
        return Resolution::Open { close: None, previous: None };
    };
    let close = due_to_close(&session, lifetime, now).map(|reason| (session.id, reason));
    let closed = matches!(session.status, SessionStatus::Closed(_));
    if close.is_none() && !closed {
        return Resolution::Reuse(session.id);
    }
    let previous = (policy == ReopenPolicy::Resume).then_some(session.id);
    Resolution::Open { close, previous }
}

/// What happens to the messages of a closed session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosePolicy {
    /// Kept.
    #[default]
    Archive,
    /// Kept, with a summary.
    SummarizeAndArchive,
}

impl ClosePolicy {
    /// Whether a session of this many messages gets a summary when it closes.
    pub const fn summarizes(self, messages: usize) -> bool {
        matches!(self, Self::SummarizeAndArchive) && messages > 2
    }
}

#[cfg(test)]
mod tests;
