//! Accounts on channels that belong to users, and the codes that link them.

use ostler_domain::channel::Channel;
use ostler_domain::id::UserId;
use ostler_domain::org::account_link::DEFAULT_LINK_MINUTES;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An account on a channel that belongs to a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedAccount {
    /// The e-mail address of the user.
    pub user: String,
    pub user_id: UserId,
    pub channel: Channel,
    /// The identifier of the account on the channel.
    pub account: String,
    /// The display name of the account when it was linked.
    pub name: Option<String>,
    pub linked_at: Timestamp,
}

/// An account that is not linked any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnlinkedAccount {
    pub channel: Channel,
    pub account: String,
}

/// Body of `POST link-codes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkCodeRequest {
    /// The user, by e-mail address or id.
    pub user: String,
    /// Minutes until the code expires.
    #[serde(default = "default_minutes")]
    pub minutes: u32,
}

const fn default_minutes() -> u32 {
    DEFAULT_LINK_MINUTES
}

/// A code that links an account to a user, once. It is shown only here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewLinkCode {
    /// The e-mail address of the user.
    pub user: String,
    /// What the person sends to a bot as `/link CODE`.
    pub code: String,
    pub expires_at: Timestamp,
}

/// Body of `POST account-links/revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeLinksRequest {
    /// An account, by its identifier on the channel, or a user, by e-mail address.
    pub account: String,
}
