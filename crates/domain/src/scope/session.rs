//! Tool restrictions of a session: the last of the four policy layers.

use std::collections::{BTreeMap, BTreeSet};

use crate::channel::Channel;
use crate::money::caps::SpendingMode;
use crate::session::errors::{DisabledTool, ErrorState};
use crate::tool::{Audience, ToolName};

/// Tool restrictions of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTools {
    pub channel: Channel,
    /// For whom the agent answers.
    pub audience: Audience,
    pub disabled: BTreeMap<ToolName, DisabledTool>,
    /// Whether only tools that read are left.
    pub read_only: bool,
    /// Tools that the channel does not support.
    pub channel_restrictions: BTreeSet<ToolName>,
}

impl SessionTools {
    /// Creates the restrictions of a new session on this channel.
    pub fn new(channel: Channel, audience: Audience) -> Self {
        let channel_restrictions = default_restrictions(&channel);
        Self {
            channel,
            audience,
            disabled: BTreeMap::new(),
            read_only: false,
            channel_restrictions,
        }
    }

    /// Returns the restrictions that follow from errors and spending.
    pub fn of(
        channel: Channel,
        audience: Audience,
        errors: &ErrorState,
        spending: SpendingMode,
    ) -> Self {
        Self {
            disabled: errors.disabled().clone(),
            read_only: spending != SpendingMode::Open,
            ..Self::new(channel, audience)
        }
    }
}

/// Returns the tools that a channel does not support by default: a text message cannot
/// carry pictures.
pub fn default_restrictions(channel: &Channel) -> BTreeSet<ToolName> {
    match channel {
        Channel::Sms => {
            ["search_media", "search_unsplash_images"].map(ToolName::from_static).into()
        }
        _ => BTreeSet::new(),
    }
}
