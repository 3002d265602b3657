//! Retry policies of model calls, channels, webhooks and dead letters.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::channel::Channel;

/// How often something is tried, and the waits in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts in all, including the first.
    pub max_attempts: u32,
    /// The wait after the first attempt.
    pub initial_wait: Duration,
    /// Each further wait is multiplied by this.
    pub factor: u32,
    pub max_wait: Duration,
    /// Random variation of a wait, up or down, in percent.
    pub jitter_percent: u32,
    /// The longest wait that a provider may ask for (`Retry-After`). If it asks for
    /// more, the call is not retried here: the next model or the dead letters take over.
    pub max_retry_after: Duration,
}

impl RetryPolicy {
    /// Model calls, before the next model of the chain is used.
    pub const MODEL: Self = Self::new(3, 1000, 4, 30_000, 10);
    /// Retry schedule of dead letters: exponential backoff of 5 to 160 minutes.
    pub const DEAD_LETTER: Self = Self::new(10, 300_000, 2, 9_600_000, 0);
    /// Calls of the observer and the reflector of a thread's memory: 5, 20, 80 and 320
    /// seconds.
    pub const MEMORY: Self = Self::new(5, 5000, 4, 600_000, 0);

    /// Events to webhooks: 16 attempts within three days, the first waits 5, 20 and 80
    /// seconds, the last ones eight hours.
    pub const WEBHOOK: Self = Self::new(16, 5000, 4, 28_800_000, 10);

    const fn new(
        max_attempts: u32,
        initial_wait_millis: u64,
        factor: u32,
        max_wait_millis: u64,
        jitter_percent: u32,
    ) -> Self {
        let initial_wait = Duration::from_millis(initial_wait_millis);
        let max_wait = Duration::from_millis(max_wait_millis);
        let minute = Duration::from_secs(60);
        let max_retry_after = if max_wait_millis > 60_000 { max_wait } else { minute };
        Self { max_attempts, initial_wait, factor, max_wait, jitter_percent, max_retry_after }
    }

    /// Returns the policy for sending on a channel.
    pub const fn for_channel(channel: &Channel) -> Self {
        match channel {
            Channel::Telegram => Self::new(3, 400, 3, 30_000, 0),
            Channel::Email => Self::new(3, 2000, 3, 30_000, 0),
            Channel::Sms | Channel::Whatsapp => Self::new(2, 1000, 2, 30_000, 0),
            Channel::Webchat | Channel::Webhook | Channel::Named(_) => {
                Self::new(3, 1000, 3, 30_000, 0)
            }
        }
    }

    /// Returns the policy for a message whose first attempts on a channel have failed. It has
    /// no last attempt: the time decides. Mail servers that defer unknown senders want
    /// longer waits.
    pub const fn held_on_channel(channel: &Channel) -> Self {
        match channel {
            Channel::Email => Self::new(u32::MAX, 15_000, 2, 60_000, 0),
            _ => Self::new(u32::MAX, 2000, 2, 5000, 0),
        }
    }

    /// Returns the wait after a failed attempt (the first is 1), or `None` when no attempt
    /// is left. `random_permille` is a random number from 0 to 1000 that the caller provides.
    pub fn wait_after(
        &self,
        attempt: u32,
        retry_after: Option<Duration>,
        random_permille: u32,
    ) -> Option<Duration> {
        if attempt >= self.max_attempts {
            return None;
        }
        // A wait that the provider asks for is never shortened.
        if let Some(asked) = retry_after {
            return (asked <= self.max_retry_after).then_some(asked);
        }
        let factor = self.factor.saturating_pow(attempt.saturating_sub(1));
        let wait = self.initial_wait.saturating_mul(factor).min(self.max_wait);
        // In thousandths of the wait: from 1000 - jitter to 1000 + jitter.
        let spread = 20 * self.jitter_percent * random_permille.min(1000) / 1000;
        Some(wait * (1000 + spread).saturating_sub(10 * self.jitter_percent) / 1000)
    }
}

/// A failed model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFailure {
    Status(u16),
    /// No answer, or an incomplete one.
    Network,
}

impl ModelFailure {
    /// Returns whether the same call may succeed later.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Status(status) => status == 429 || status >= 500,
            Self::Network => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelFailure, RetryPolicy};
    use crate::channel::Channel;
    use std::time::Duration;

    fn waits(policy: RetryPolicy, random_permille: u32) -> Vec<u128> {
        (1..)
            .map_while(|attempt| policy.wait_after(attempt, None, random_permille))
            .map(|wait| wait.as_millis())
            .collect()
    }

    /// C03: three attempts with about 1 s and 4 s between, ±10 %.
    #[test]
    fn c03_model_calls_wait_one_and_four_seconds() {
        assert_eq!(waits(RetryPolicy::MODEL, 500), [1000, 4000]);
        assert_eq!(waits(RetryPolicy::MODEL, 0), [900, 3600]);
        assert_eq!(waits(RetryPolicy::MODEL, 1000), [1100, 4400]);
    }

    /// C03: a `Retry-After` is honoured, but not after the last attempt.
    #[test]
    fn c03_retry_after_is_honoured() {
        let asked = Some(Duration::from_secs(17));
        assert_eq!(RetryPolicy::MODEL.wait_after(1, asked, 0), asked);
        assert_eq!(RetryPolicy::MODEL.wait_after(3, asked, 0), None);
        let an_hour = Some(Duration::from_secs(3600));
        assert_eq!(RetryPolicy::MODEL.wait_after(1, an_hour, 0), None);
    }

    /// C03: 429 and 5xx are retried, other 4xx are not.
    #[test]
    fn c03_only_temporary_failures_are_retried() {
        for status in [429, 500, 502, 503, 529] {
            assert!(ModelFailure::Status(status).is_retryable(), "{status}");
        }
        for status in [400, 401, 403, 404, 422] {
            assert!(!ModelFailure::Status(status).is_retryable(), "{status}");
        }
        assert!(ModelFailure::Network.is_retryable());
    }

    /// C17: the policy of each channel.
    #[test]
    fn c17_channels_have_their_policies() {
        let table: [(&str, &[u128]); 5] = [
            ("telegram", &[400, 1200]),
            ("email", &[2000, 6000]),
            ("webhook", &[1000, 3000]),
            ("sms", &[1000]),
            ("pager", &[1000, 3000]),
        ];
        for (channel, expected) in table {
            let policy = RetryPolicy::for_channel(&Channel::from(channel));
            assert_eq!(waits(policy, 500), expected, "{channel}");
        }
    }

    /// C18: ten attempts, five minutes doubling to 160.
    #[test]
    fn c18_dead_letters_wait_up_to_160_minutes() {
        let minutes: Vec<u128> =
            waits(RetryPolicy::DEAD_LETTER, 0).into_iter().map(|ms| ms / 60_000).collect();
        assert_eq!(minutes, [5, 10, 20, 40, 80, 160, 160, 160, 160]);
        let asked = Some(Duration::from_secs(5 * 60));
        assert_eq!(RetryPolicy::DEAD_LETTER.wait_after(1, asked, 0), asked);
    }
}
