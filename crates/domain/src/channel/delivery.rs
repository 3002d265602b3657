//! Retry rules for messages that could not be sent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::channel::Channel;
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

impl SendFailure {
    /// Returns whether the receiver itself failed: it did not answer, or with an error that
    /// is not about the message.
    pub const fn is_outage(self) -> bool {
        matches!(self, Self::Ambiguous | Self::Transient { retry_after: None })
    }
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
    /// For how long all attempts have failed.
    pub failing_for: Duration,
    /// Whether it was sent as plain text.
    pub plain: bool,
    /// Whether the message is a dead letter, which gets one attempt each time.
    pub is_dead_letter: bool,
}

/// The retries of a message before it becomes a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendRetries {
    /// The first attempts, by the policy of the channel.
    pub quick: RetryPolicy,
    /// The waits of the attempts after those. Later messages of the conversation wait
    /// behind it.
    pub held: RetryPolicy,
    /// For how long a message is held.
    pub max_hold: Duration,
}

impl SendRetries {
    /// Returns the retries on a channel.
    pub const fn for_channel(channel: &Channel, max_hold: Duration) -> Self {
        let quick = RetryPolicy::for_channel(channel);
        Self { quick, held: RetryPolicy::held_on_channel(channel), max_hold }
    }

    fn wait_after(
        &self,
        attempt: SendAttempt,
        retry_after: Option<Duration>,
        jitter: u32,
    ) -> Option<Duration> {
        if attempt.is_dead_letter {
            return None;
        }
        let quick = self.quick.wait_after(attempt.number, retry_after, jitter);
        quick.or_else(|| {
            let number = attempt.number.saturating_sub(self.quick.max_attempts).saturating_add(1);
            let wait = self.held.wait_after(number, retry_after, jitter)?;
            (attempt.failing_for < self.max_hold).then_some(wait)
        })
    }
}

/// Decides what to do about a failed send. `jitter`, from 0 to 1000, varies the
/// wait.
pub fn next_action(
    failure: SendFailure,
    attempt: SendAttempt,
    retries: SendRetries,
    on_unknown: UnknownOutcomePolicy,
    jitter: u32,
) -> FailedSendAction {
    let retry = |retry_after, on_retry: fn(Duration) -> FailedSendAction| {
        let wait = retries.wait_after(attempt, retry_after, jitter);
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
    use super::{
        FailedSendAction, SendAttempt, SendFailure, SendRetries, UnknownOutcomePolicy, next_action,
    };
    use crate::channel::Channel;
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
        let retries = SendRetries::for_channel(&Channel::Telegram, Duration::ZERO);
        for (failure, number, plain, on_unknown, expected) in table {
            let attempt = SendAttempt { number, plain, ..FIRST };
            let step = next_action(failure, attempt, retries, on_unknown, 500);
            assert_eq!(step, expected, "{failure:?} {attempt:?}");
        }
    }

    const FIRST: SendAttempt =
        SendAttempt { number: 1, failing_for: Duration::ZERO, plain: false, is_dead_letter: false };

    /// C17, C18: after its quick attempts a message is held for some minutes, with short
    /// waits; a dead letter is not.
    #[test]
    fn c17_c18_a_message_is_held_before_it_becomes_a_dead_letter() {
        let minutes = |count: u64| Duration::from_secs(count * 60);
        let check = |channel: &Channel, attempt: SendAttempt| {
            let retries = SendRetries::for_channel(channel, minutes(5));
            let ask = UnknownOutcomePolicy::AskPerson;
            match next_action(TRANSIENT, attempt, retries, ask, 500) {
                FailedSendAction::RetryAfter(wait) => Some(wait.as_millis()),
                _ => None,
            }
        };
        let waits = |channel: &Channel| -> Vec<Option<u128>> {
            let attempt = |number| SendAttempt { number, failing_for: minutes(4), ..FIRST };
            (1..=8).map(|number| check(channel, attempt(number))).collect()
        };
        let expected = [1000, 3000, 2000, 4000, 5000, 5000, 5000, 5000];
        assert_eq!(waits(&Channel::Webhook), expected.map(Some));
        let expected = [1000, 2000, 4000, 5000, 5000, 5000, 5000, 5000];
        assert_eq!(waits(&Channel::Sms), expected.map(Some));
        let expected = [2000, 6000, 15_000, 30_000, 60_000, 60_000, 60_000, 60_000];
        assert_eq!(waits(&Channel::Email), expected.map(Some));
        let late = SendAttempt { number: 40, failing_for: minutes(5), ..FIRST };
        assert_eq!(check(&Channel::Webhook, late), None);
        let dead = SendAttempt { is_dead_letter: true, ..FIRST };
        assert_eq!(check(&Channel::Webhook, dead), None);
    }

    /// C17: only what is not about the message counts as an outage of its receiver.
    #[test]
    fn c17_a_refusal_is_no_outage() {
        let asked = SendFailure::Transient { retry_after: Some(Duration::from_secs(7)) };
        let table = [
            (TRANSIENT, true),
            (SendFailure::Ambiguous, true),
            (asked, false),
            (SendFailure::Formatting, false),
            (SendFailure::Permanent, false),
        ];
        for (failure, expected) in table {
            assert_eq!(failure.is_outage(), expected, "{failure:?}");
        }
    }
}
