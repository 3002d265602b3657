//! What happens to a message that could not be sent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::retry::RetryPolicy;

/// How a send failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendFailure {
    /// It may work later; the provider may have said when.
    Transient {
        /// What the provider asked for.
        retry_after: Option<Duration>,
    },
    /// The provider could not read the formatting.
    Formatting,
    /// It will never work.
    Permanent,
    /// Nobody knows whether it was sent.
    Ambiguous,
}

/// What a channel does when nobody knows whether a message was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenUnknown {
    /// A person looks into it.
    #[default]
    AskPerson,
    /// It is sent again, marked as a possible duplicate.
    Resend,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextSend {
    /// Try again after this time.
    After(Duration),
    /// Try again at once, as plain text.
    Plain,
    /// Try again at once, marked as a possible duplicate.
    MarkedDuplicate,
    /// Keep it as `outcome_unknown` for a person.
    Unknown,
    /// Keep it as a dead letter.
    DeadLetter,
}

/// How a message was sent when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Which attempt it was, from 1.
    pub number: u32,
    /// Whether it was plain text already.
    pub plain: bool,
}

/// What to do about a failed send. `chance`, from 0 to 1000, varies the wait.
pub fn next(
    failure: SendFailure,
    attempt: Attempt,
    policy: RetryPolicy,
    when_unknown: WhenUnknown,
    chance: u32,
) -> NextSend {
    let retry = |retry_after, then: fn(Duration) -> NextSend| {
        let wait = policy.wait_after(attempt.number, retry_after, chance);
        wait.map_or(NextSend::DeadLetter, then)
    };
    match failure {
        SendFailure::Transient { retry_after } => retry(retry_after, NextSend::After),
        SendFailure::Formatting if !attempt.plain => NextSend::Plain,
        SendFailure::Formatting | SendFailure::Permanent => NextSend::DeadLetter,
        SendFailure::Ambiguous => match when_unknown {
            WhenUnknown::AskPerson => NextSend::Unknown,
            WhenUnknown::Resend => retry(None, |_| NextSend::MarkedDuplicate),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Attempt, NextSend, SendFailure, WhenUnknown, next};
    use crate::channel::Channel;
    use crate::retry::RetryPolicy;
    use std::time::Duration;

    const TRANSIENT: SendFailure = SendFailure::Transient { retry_after: None };

    /// C17, C18, Z09: retry by the channel's policy, one plain resend, a dead
    /// letter at the end, and what is unknown is said to be.
    #[test]
    fn c17_c18_z09_a_failed_send_has_a_next_step() {
        let seven = Duration::from_secs(7);
        let asked = SendFailure::Transient { retry_after: Some(seven) };
        let ask = WhenUnknown::AskPerson;
        let table = [
            (TRANSIENT, 1, false, ask, NextSend::After(Duration::from_millis(400))),
            (TRANSIENT, 2, false, ask, NextSend::After(Duration::from_millis(1200))),
            (TRANSIENT, 3, false, ask, NextSend::DeadLetter),
            (asked, 1, false, ask, NextSend::After(seven)),
            (SendFailure::Formatting, 1, false, ask, NextSend::Plain),
            (SendFailure::Formatting, 3, false, ask, NextSend::Plain),
            (SendFailure::Formatting, 2, true, ask, NextSend::DeadLetter),
            (SendFailure::Permanent, 1, false, ask, NextSend::DeadLetter),
            (SendFailure::Ambiguous, 1, false, ask, NextSend::Unknown),
            (SendFailure::Ambiguous, 1, false, WhenUnknown::Resend, NextSend::MarkedDuplicate),
            (SendFailure::Ambiguous, 3, false, WhenUnknown::Resend, NextSend::DeadLetter),
        ];
        let policy = RetryPolicy::of_channel(&Channel::Telegram);
        for (failure, number, plain, when_unknown, expected) in table {
            let attempt = Attempt { number, plain };
            let step = next(failure, attempt, policy, when_unknown, 500);
            assert_eq!(step, expected, "{failure:?} {attempt:?}");
        }
    }
}
