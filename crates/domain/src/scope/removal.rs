//! Why a tool is not there: the stage, the rule, the value and a sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::org::guardrail::Capability;
use crate::org::layer::BusinessLayer;
use crate::time::Timestamp;
use crate::tool::Integration;
use crate::tool::profile::Profile;

/// The four sources that narrow a scope. Not to be confused with the business
/// layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyLayer {
    /// The installation.
    Platform,
    /// The tenant.
    Org,
    /// The agent.
    Agent,
    /// The conversation.
    Session,
}

/// The stages, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The platform's policy.
    Platform,
    /// The org's policy, licence and team settings.
    Org,
    /// Connected services.
    Integrations,
    /// The agent's profile and policy.
    Agent,
    /// The agent's autonomy.
    Autonomy,
    /// The agent's business layer.
    BusinessLayer,
    /// What happened in the session, and its channel.
    Session,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Self; 7] = [
        Self::Platform,
        Self::Org,
        Self::Integrations,
        Self::Agent,
        Self::Autonomy,
        Self::BusinessLayer,
        Self::Session,
    ];

    /// The name on screens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Org => "org",
            Self::Integrations => "integrations",
            Self::Agent => "agent",
            Self::Autonomy => "autonomy",
            Self::BusinessLayer => "business layer",
            Self::Session => "session",
        }
    }

    /// The policy layer that a stage is, if it is one of the four.
    pub const fn policy_layer(self) -> Option<PolicyLayer> {
        match self {
            Self::Platform => Some(PolicyLayer::Platform),
            Self::Org => Some(PolicyLayer::Org),
            Self::Agent => Some(PolicyLayer::Agent),
            Self::Session => Some(PolicyLayer::Session),
            Self::Integrations | Self::Autonomy | Self::BusinessLayer => None,
        }
    }
}

/// The first rule that removed a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Removal {
    /// On a deny list.
    Denied {
        /// Whose.
        policy_layer: PolicyLayer,
    },
    /// Not on an allow list.
    NotAllowed {
        /// Whose.
        policy_layer: PolicyLayer,
    },
    /// The licence does not include sub-orgs.
    Unlicensed,
    /// The org's agents do not work as a team.
    NoTeamCoordination,
    /// Services that are not connected.
    NotConnected {
        /// Which.
        integrations: Vec<Integration>,
    },
    /// Not in the agent's profile.
    OutsideProfile {
        /// Which profile.
        profile: Profile,
    },
    /// The agent only drafts.
    DraftOnly,
    /// A tool of other business layers.
    OtherLayersTool {
        /// The layer that does not have it.
        business_layer: BusinessLayer,
    },
    /// The guardrail matrix says no.
    NoRight {
        /// The layer.
        business_layer: BusinessLayer,
        /// The row.
        capability: Capability,
    },
    /// Not on the layer's short list.
    NotOnLayerList {
        /// The layer.
        business_layer: BusinessLayer,
    },
    /// On the layer's block list.
    BlockedAtLayer {
        /// The layer.
        business_layer: BusinessLayer,
    },
    /// A coordinator never speaks to people outside.
    RoutesOnly,
    /// Failed too often in this session.
    FailedTooOften {
        /// How often.
        failures: u32,
        /// When it was switched off.
        since: Timestamp,
    },
    /// The session has spent so much that only reading is left.
    SessionReadOnly,
    /// Not available on the session's channel.
    NotOnChannel {
        /// The channel.
        channel: Channel,
    },
}

impl Removal {
    /// The stage that removed it.
    pub const fn stage(&self) -> Stage {
        match self {
            Self::Denied { policy_layer } | Self::NotAllowed { policy_layer } => match policy_layer
            {
                PolicyLayer::Platform => Stage::Platform,
                PolicyLayer::Org => Stage::Org,
                PolicyLayer::Agent => Stage::Agent,
                PolicyLayer::Session => Stage::Session,
            },
            Self::Unlicensed | Self::NoTeamCoordination => Stage::Org,
            Self::NotConnected { .. } => Stage::Integrations,
            Self::OutsideProfile { .. } => Stage::Agent,
            Self::DraftOnly => Stage::Autonomy,
            Self::OtherLayersTool { .. }
            | Self::NoRight { .. }
            | Self::NotOnLayerList { .. }
            | Self::BlockedAtLayer { .. }
            | Self::RoutesOnly => Stage::BusinessLayer,
            Self::FailedTooOften { .. } | Self::SessionReadOnly | Self::NotOnChannel { .. } => {
                Stage::Session
            }
        }
    }
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { .. } => f.write_str("on the deny list"),
            Self::NotAllowed { .. } => f.write_str("not on the allow list"),
            Self::Unlicensed => f.write_str("the licence does not include sub-orgs"),
            Self::NoTeamCoordination => f.write_str("team coordination is not configured"),
            Self::NotConnected { integrations } => {
                let names: Vec<String> = integrations.iter().map(ToString::to_string).collect();
                write!(f, "not connected: {}", names.join(", "))
            }
            Self::OutsideProfile { profile } => write!(f, "not in the profile `{profile}`"),
            Self::DraftOnly => f.write_str("draft_only keeps tools that read"),
            Self::OtherLayersTool { business_layer } => {
                write!(f, "not a tool of {} agents", business_layer.name())
            }
            Self::NoRight { business_layer, capability } => {
                write!(f, "{} agents may not {capability}", business_layer.name())
            }
            Self::NotOnLayerList { business_layer } => {
                write!(f, "not on the short list of {} agents", business_layer.name())
            }
            Self::BlockedAtLayer { business_layer } => {
                write!(f, "blocked for {} agents", business_layer.name())
            }
            Self::RoutesOnly => f.write_str("a coordinator does not write to people outside"),
            Self::FailedTooOften { failures, .. } => {
                write!(f, "failed {failures} times in this session")
            }
            Self::SessionReadOnly => {
                f.write_str("the session is near its credit cap, only reading is left")
            }
            Self::NotOnChannel { channel } => write!(f, "not available on {channel}"),
        }
    }
}
