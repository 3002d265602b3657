//! What a session says about tools: the last of the four policy layers.

use std::collections::{BTreeMap, BTreeSet};

use crate::channel::Channel;
use crate::money::caps::SessionSpending;
use crate::session::errors::{DisabledTool, ErrorState};
use crate::tool::ToolName;

/// What a session says about tools: the session layer of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTools {
    /// The channel it is on.
    pub channel: Channel,
    /// Tools that are off.
    pub disabled: BTreeMap<ToolName, DisabledTool>,
    /// Whether only reading is left.
    pub read_only: bool,
    /// Tools that its channel cannot carry.
    pub channel_restrictions: BTreeSet<ToolName>,
}

impl SessionTools {
    /// A session on this channel in which nothing has gone wrong.
    pub fn new(channel: Channel) -> Self {
        let channel_restrictions = default_restrictions(&channel);
        Self { channel, disabled: BTreeMap::new(), read_only: false, channel_restrictions }
    }

    /// The session layer that follows from errors and spending.
    pub fn of(channel: Channel, errors: &ErrorState, spending: SessionSpending) -> Self {
        Self {
            disabled: errors.disabled().clone(),
            read_only: spending != SessionSpending::Open,
            ..Self::new(channel)
        }
    }
}

/// The tools that a channel cannot carry unless the platform says otherwise:
/// pictures do not fit into a text message.
pub fn default_restrictions(channel: &Channel) -> BTreeSet<ToolName> {
    match channel {
        Channel::Sms => {
            ["search_media", "search_unsplash_images"].map(ToolName::from_static).into()
        }
        _ => BTreeSet::new(),
    }
}
