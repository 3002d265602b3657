//! Why a tool is not in a scope: the stage, the rule, its values and a sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::org::guardrail::Capability;
use crate::org::layer::BusinessLayer;
use crate::time::Timestamp;
use crate::tool::Integration;
use crate::tool::profile::ToolProfile;

/// The four sources of tool policy. Not to be confused with the business layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyLayer {
    Platform,
    Org,
    Agent,
    Session,
}

/// The stages, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeStage {
    Platform,
    /// The org's policy, licence and team settings.
    Org,
    Integrations,
    /// The agent's profile and policy.
    Agent,
    Autonomy,
    BusinessLayer,
    /// Failures, spending and channel of the session.
    Session,
}

impl ScopeStage {
    /// All stages, in order.
    pub const ALL: [Self; 7] = [
        Self::Platform,
        Self::Org,
        Self::Integrations,
        Self::Agent,
        Self::Autonomy,
        Self::BusinessLayer,
        Self::Session,
    ];

    /// Returns the name shown on screens.
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

    /// Returns the policy layer of a stage, if it is one of the four.
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
    Denied {
        policy_layer: PolicyLayer,
    },
    NotAllowed {
        policy_layer: PolicyLayer,
    },
    /// The licence does not include sub-orgs.
    Unlicensed,
    /// The org's agents do not work as a team.
    NoTeamCoordination,
    /// Required integrations are not connected.
    NotConnected {
        integrations: Vec<Integration>,
    },
    OutsideProfile {
        profile: ToolProfile,
    },
    DraftOnly,
    /// A tool of other business layers.
    OtherLayersTool {
        business_layer: BusinessLayer,
    },
    /// The guardrail matrix does not allow it.
    NoRight {
        business_layer: BusinessLayer,
        capability: Capability,
    },
    /// Not on the layer's allow list.
    NotOnLayerList {
        business_layer: BusinessLayer,
    },
    /// On the layer's block list.
    BlockedAtLayer {
        business_layer: BusinessLayer,
    },
    /// A coordinator never messages contacts.
    RoutesOnly,
    /// Only the PM of an org decides.
    PmDecides,
    FailedTooOften {
        failures: u32,
        since: Timestamp,
    },
    /// The session budget is nearly used up, so only reading tools are left.
    SessionReadOnly,
    NotOnChannel {
        channel: Channel,
    },
    /// The tool is for the org's own people, and a customer is in the session.
    StaffOnly,
}

impl Removal {
    /// Returns the stage that removed the tool.
    pub const fn stage(&self) -> ScopeStage {
        match self {
            Self::Denied { policy_layer } | Self::NotAllowed { policy_layer } => match policy_layer
            {
                PolicyLayer::Platform => ScopeStage::Platform,
                PolicyLayer::Org => ScopeStage::Org,
                PolicyLayer::Agent => ScopeStage::Agent,
                PolicyLayer::Session => ScopeStage::Session,
            },
            Self::Unlicensed | Self::NoTeamCoordination => ScopeStage::Org,
            Self::NotConnected { .. } => ScopeStage::Integrations,
            Self::OutsideProfile { .. } => ScopeStage::Agent,
            Self::DraftOnly => ScopeStage::Autonomy,
            Self::OtherLayersTool { .. }
            | Self::NoRight { .. }
            | Self::NotOnLayerList { .. }
            | Self::BlockedAtLayer { .. }
            | Self::RoutesOnly
            | Self::PmDecides => ScopeStage::BusinessLayer,
            Self::FailedTooOften { .. }
            | Self::SessionReadOnly
            | Self::NotOnChannel { .. }
            | Self::StaffOnly => ScopeStage::Session,
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
            Self::PmDecides => f.write_str("the PM decides this"),
            Self::FailedTooOften { failures, .. } => {
                write!(f, "failed {failures} times in this session")
            }
            Self::SessionReadOnly => {
                f.write_str("the session is near its credit cap, only reading is left")
            }
            Self::NotOnChannel { channel } => write!(f, "not available on {channel}"),
            Self::StaffOnly => f.write_str("for staff only, and this session is a customer's"),
        }
    }
}
