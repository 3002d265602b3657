//! Retry rules for messages that could not be sent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::retry::RetryPolicy;

/// How a send failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendFailure {
    /// May succeed later.
    Transient {
        /// The wait that the provider asked for.
        retry_after: Option<Duration>,
    },
    /// The provider rejected the formatting.
    Formatting,
    /// Will never succeed.
    Permanent,
    /// The outcome is unknown: it may have been sent.
    Ambiguous,
}

/// What a channel does when the outcome of a send is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownOutcomePolicy {
    /// An operator decides.
    #[default]
    AskPerson,
    /// The message is sent again, marked as a possible duplicate.
    Resend,
}

/// The next step after a failed send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedSendAction {
    RetryAfter(Duration),
    /// Send again at once, as plain text.
    RetryAsPlainText,
    /// Send again after a wait, marked as a possible duplicate.
    RetryMarkedDuplicate(Duration),
    /// Keep the message as `outcome_unknown` for an operator.
    UnknownOutcome,
    /// Keep the message as a dead letter.
    DeadLetter,
}

/// A failed attempt to send a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendAttempt {
    /// Counted from 1.
    pub number: u32,
    /// Whether it was sent as plain text.
    pub plain: bool,
}

/// Decides what to do about a failed send. `jitter`, from 0 to 1000, varies the
/// wait.
pub fn next_action(
    failure: SendFailure,
    attempt: SendAttempt,
    policy: RetryPolicy,
    on_unknown: UnknownOutcomePolicy,
    jitter: u32,
) -> FailedSendAction {
    let retry = |retry_after, on_retry: fn(Duration) -> FailedSendAction| {
        let wait = policy.wait_after(attempt.number, retry_after, jitter);
        wait.map_or(FailedSendAction::DeadLetter, on_retry)
    };
    match failure {
        SendFailure::Transient { retry_after } => retry(retry_after, FailedSendAction::RetryAfter),
        SendFailure::Formatting if !attempt.plain => FailedSendAction::RetryAsPlainText,
        SendFailure::Formatting | SendFailure::Permanent => FailedSendAction::DeadLetter,
        SendFailure::Ambiguous => match on_unknown {
            UnknownOutcomePolicy::AskPerson => FailedSendAction::UnknownOutcome,
            UnknownOutcomePolicy::Resend => retry(None, FailedSendAction::RetryMarkedDuplicate),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{FailedSendAction, SendAttempt, SendFailure, UnknownOutcomePolicy, next_action};
    use crate::channel::Channel;
    use crate::retry::RetryPolicy;
    use std::time::Duration;

    const TRANSIENT: SendFailure = SendFailure::Transient { retry_after: None };

    /// C17, C18, Z09: retries by the channel's policy, one resend as plain text, then a
    /// dead letter; an ambiguous failure is an unknown outcome.
    #[test]
    fn c17_c18_z09_a_failed_send_has_a_next_step() {
        let seven = Duration::from_secs(7);
        let asked = SendFailure::Transient { retry_after: Some(seven) };
        let ask = UnknownOutcomePolicy::AskPerson;
        let table = [
            (TRANSIENT, 1, false, ask, FailedSendAction::RetryAfter(Duration::from_millis(400))),
            (TRANSIENT, 2, false, ask, FailedSendAction::RetryAfter(Duration::from_millis(1200))),
            (TRANSIENT, 3, false, ask, FailedSendAction::DeadLetter),
            (asked, 1, false, ask, FailedSendAction::RetryAfter(seven)),
            (SendFailure::Formatting, 1, false, ask, FailedSendAction::RetryAsPlainText),
            (SendFailure::Formatting, 3, false, ask, FailedSendAction::RetryAsPlainText),
            (SendFailure::Formatting, 2, true, ask, FailedSendAction::DeadLetter),
            (SendFailure::Permanent, 1, false, ask, FailedSendAction::DeadLetter),
            (SendFailure::Ambiguous, 1, false, ask, FailedSendAction::UnknownOutcome),
            (
                SendFailure::Ambiguous,
                1,
                false,
                UnknownOutcomePolicy::Resend,
                FailedSendAction::RetryMarkedDuplicate(Duration::from_millis(400)),
            ),
            (
                SendFailure::Ambiguous,
                3,
                false,
                UnknownOutcomePolicy::Resend,
                FailedSendAction::DeadLetter,
            ),
        ];
        let policy = RetryPolicy::for_channel(&Channel::Telegram);
        for (failure, number, plain, on_unknown, expected) in table {
            let attempt = SendAttempt { number, plain };
            let step = next_action(failure, attempt, policy, on_unknown, 500);
            assert_eq!(step, expected, "{failure:?} {attempt:?}");
        }
    }
}
