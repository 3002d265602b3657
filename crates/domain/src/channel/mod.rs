//! Channels: the services through which people write to an org.

pub mod binding;
pub mod breaker;
pub mod delivery;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A channel, identified by its name. A phone gateway is the generic webhook bound
/// under its own channel name, so the set of names is open.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(from = "String", into = "String")]
pub enum Channel {
    /// Telegram's Bot API.
    Telegram,
    /// The chat on a web page.
    Webchat,
    Email,
    /// SMS through a gateway.
    Sms,
    /// `WhatsApp` through a gateway.
    Whatsapp,
    /// The generic signed webhook.
    Webhook,
    /// A webhook bound under a custom name.
    Named(String),
}

impl Channel {
    /// The names of the channels that have one of their own.
    pub const KNOWN: [&str; 6] = ["telegram", "webchat", "email", "webhook", "sms", "whatsapp"];

    /// Returns the name that is stored and shown.
    pub fn name(&self) -> &str {
        match self {
            Self::Telegram => "telegram",
            Self::Webchat => "webchat",
            Self::Email => "email",
            Self::Sms => "sms",
            Self::Whatsapp => "whatsapp",
            Self::Webhook => "webhook",
            Self::Named(name) => name,
        }
    }

    /// Returns whether contacts on this channel are identified by a telephone number.
    pub const fn uses_phone_numbers(&self) -> bool {
        matches!(self, Self::Sms | Self::Whatsapp)
    }
}

impl From<String> for Channel {
    fn from(name: String) -> Self {
        match name.trim().to_lowercase().as_str() {
            "telegram" => Self::Telegram,
            "webchat" => Self::Webchat,
            "email" => Self::Email,
            "sms" => Self::Sms,
            "whatsapp" => Self::Whatsapp,
            "webhook" => Self::Webhook,
            other => Self::Named(other.to_owned()),
        }
    }
}

impl From<&str> for Channel {
    fn from(name: &str) -> Self {
        Self::from(name.to_owned())
    }
}

impl From<Channel> for String {
    fn from(channel: Channel) -> Self {
        channel.name().to_owned()
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Channel;

    #[test]
    fn a_channel_name_is_read_ignoring_case() {
        for name in ["telegram", "webchat", "email", "sms", "whatsapp", "webhook", "pager"] {
            assert_eq!(Channel::from(name.to_uppercase()).name(), name);
        }
    }

    #[test]
    fn only_sms_and_whatsapp_use_phone_numbers() {
        let phones: Vec<&str> = ["telegram", "webchat", "email", "sms", "whatsapp", "pager"]
            .into_iter()
            .filter(|name| Channel::from(*name).uses_phone_numbers())
            .collect();
        assert_eq!(phones, ["sms", "whatsapp"]);
    }
}
