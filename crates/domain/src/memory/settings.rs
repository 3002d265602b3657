//! The thresholds and models of a thread's memory.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// When the memory of a thread acts, and with which models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemorySettings {
    /// Tokens of messages in the prompt at which observations take their place.
    pub observation_threshold: u64,
    /// Tokens of observations in the prompt at which they are merged.
    pub reflection_threshold: u64,
    /// `None` means the thread's own model.
    pub observer_model: Option<String>,
    /// `None` means the thread's own model.
    pub reflector_model: Option<String>,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            observation_threshold: 30_000,
            reflection_threshold: 40_000,
            observer_model: None,
            reflector_model: None,
        }
    }
}

/// The thresholds that make sense: a smaller window holds no conversation, a larger one
/// fits no model.
const THRESHOLDS: RangeInclusive<u64> = 200..=10_000_000;

/// A threshold that no window can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {name} threshold is {value} tokens; use {} to {}", THRESHOLDS.start(), THRESHOLDS.end())]
pub struct MemorySettingsError {
    /// `observation` or `reflection`.
    pub name: &'static str,
    pub value: u64,
}

impl MemorySettings {
    /// Checks the thresholds.
    pub fn check(&self) -> Result<(), MemorySettingsError> {
        let both = [
            ("observation", self.observation_threshold),
            ("reflection", self.reflection_threshold),
        ];
        match both.into_iter().find(|(_, value)| !THRESHOLDS.contains(value)) {
            Some((name, value)) => Err(MemorySettingsError { name, value }),
            None => Ok(()),
        }
    }

    /// Returns the tokens of messages at which buffering starts.
    pub(super) const fn buffering_start(&self) -> u64 {
        self.observation_threshold * 3 / 5
    }

    /// Returns the tokens that are worth a call of the observer.
    pub(super) const fn chunk(&self) -> u64 {
        self.observation_threshold / 5
    }

    /// Returns the most tokens of messages that one call of the observer reads, unless a
    /// single message has more.
    pub(super) const fn max_chunk(&self) -> u64 {
        2 * self.chunk()
    }

    /// Returns the tokens of the newest messages, which always stay in the prompt.
    pub(super) const fn kept_tail(&self) -> u64 {
        self.observation_threshold / 5
    }

    /// Returns the most tokens of messages in the prompt, unless the newest alone has more.
    pub const fn message_limit(&self) -> u64 {
        self.observation_threshold * 6 / 5
    }

    /// Returns the most tokens of observations in the prompt.
    pub const fn observation_limit(&self) -> u64 {
        self.reflection_threshold * 6 / 5
    }
}

#[cfg(test)]
mod tests {
    use super::MemorySettings;

    #[test]
    fn m15_m16_the_default_thresholds_are_30000_and_40000_tokens() {
        let settings = MemorySettings::default();
        let limits = (settings.message_limit(), settings.observation_limit());
        assert_eq!(
            (settings.observation_threshold, settings.reflection_threshold),
            (30_000, 40_000)
        );
        assert_eq!(
            (settings.buffering_start(), settings.chunk(), limits),
            (18_000, 6_000, (36_000, 48_000))
        );
        assert_eq!(settings.check(), Ok(()));
    }

    #[test]
    fn a_threshold_out_of_range_is_refused() {
        let small = MemorySettings { reflection_threshold: 199, ..MemorySettings::default() };
        assert_eq!(
            small.check().unwrap_err().to_string(),
            "the reflection threshold is 199 tokens; use 200 to 10000000"
        );
        let large = MemorySettings { observation_threshold: u64::MAX, ..MemorySettings::default() };
        assert_eq!(large.check().unwrap_err().name, "observation");
    }
}
