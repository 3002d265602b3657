//! Tool profiles: predefined sets of tools for a kind of agent.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ToolGroup::{
    Bookings, Crm, CrossLayer, Custom, Knowledge, Media, Offers, Orders, Outreach, Team,
};
use super::{Risk, ToolGroup, ToolRole, ToolSpec};
use crate::agent::subtype::Subtype;

/// A set of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ToolProfile {
    /// All tools, written `*`.
    Everything,
    /// All but the administration of the installation.
    General,
    Support,
    Sales,
    Booking,
    Readonly,
    Admin,
}

/// There is no profile with this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool profile `{0}`; there are: *, general, support, sales, booking, readonly, admin")]
pub struct UnknownToolProfile(String);

const SUPPORT: &[ToolGroup] =
    &[Crm, Offers, Bookings, Orders, Media, Knowledge, CrossLayer, Team, Custom];
const SALES: &[ToolGroup] = &[Crm, Offers, Media, Knowledge, Outreach, CrossLayer, Team, Custom];
const BOOKING: &[ToolGroup] = &[Crm, Offers, Bookings, Knowledge, CrossLayer, Team, Custom];

impl ToolProfile {
    /// All profiles.
    pub const ALL: [Self; 7] = [
        Self::Everything,
        Self::General,
        Self::Support,
        Self::Sales,
        Self::Booking,
        Self::Readonly,
        Self::Admin,
    ];

    /// Returns the name as stored and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everything => "*",
            Self::General => "general",
            Self::Support => "support",
            Self::Sales => "sales",
            Self::Booking => "booking",
            Self::Readonly => "readonly",
            Self::Admin => "admin",
        }
    }

    /// Returns the profile of a new agent with this subtype.
    pub const fn default_for(subtype: &Subtype) -> Self {
        match subtype {
            Subtype::SalesAssistant => Self::Sales,
            Subtype::BookingAgent => Self::Booking,
            Subtype::CustomerService => Self::Support,
            Subtype::Coordinator => Self::Readonly,
            Subtype::System => Self::Admin,
            Subtype::Pm | Subtype::Other(_) => Self::General,
        }
    }

    /// Returns whether the profile includes a tool.
    pub fn includes(self, tool: &ToolSpec) -> bool {
        match self {
            Self::Everything | Self::Admin => true,
            Self::General => tool.group != ToolGroup::PlatformAdmin,
            Self::Support => SUPPORT.contains(&tool.group),
            Self::Sales => SALES.contains(&tool.group),
            Self::Booking => BOOKING.contains(&tool.group),
            Self::Readonly => {
                tool.risk == Risk::Read
                    || tool.role == ToolRole::Control
                    || tool.group == CrossLayer
            }
        }
    }
}

impl FromStr for ToolProfile {
    type Err = UnknownToolProfile;

    fn from_str(name: &str) -> Result<Self, UnknownToolProfile> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.name() == name)
            .ok_or_else(|| UnknownToolProfile(name.to_owned()))
    }
}

impl TryFrom<String> for ToolProfile {
    type Error = UnknownToolProfile;

    fn try_from(name: String) -> Result<Self, UnknownToolProfile> {
        name.parse()
    }
}

impl From<ToolProfile> for String {
    fn from(profile: ToolProfile) -> Self {
        profile.name().to_owned()
    }
}

impl fmt::Display for ToolProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::ToolProfile;
    use crate::agent::subtype::Subtype;
    use crate::tool::catalogue::built_in;

    /// B12: the profile of each subtype, and general for an unknown one.
    #[test]
    fn b12_a_subtype_has_its_profile() {
        let table = [
            ("pm", "general"),
            ("sales_assistant", "sales"),
            ("booking_agent", "booking"),
            ("customer_service", "support"),
            ("coordinator", "readonly"),
            ("system", "admin"),
            ("night_porter", "general"),
        ];
        for (subtype, profile) in table {
            assert_eq!(
                ToolProfile::default_for(&Subtype::from(subtype)).name(),
                profile,
                "{subtype}"
            );
        }
    }

    #[test]
    fn a_profile_is_parsed_from_its_name() {
        for profile in ToolProfile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
        }
        let why = "everything".parse::<ToolProfile>().unwrap_err().to_string();
        assert!(why.contains("there are: *, general"), "{why}");
    }

    #[test]
    fn profiles_include_the_expected_tools() {
        let names = |profile: ToolProfile| -> Vec<String> {
            let tools = built_in().into_iter();
            tools.filter(|tool| profile.includes(tool)).map(|tool| tool.name.to_string()).collect()
        };
        assert_eq!(names(ToolProfile::Everything).len(), built_in().len());
        assert!(!names(ToolProfile::Support).contains(&"send_bulk_email".to_owned()));
        assert!(names(ToolProfile::Sales).contains(&"send_email".to_owned()));
        assert!(!names(ToolProfile::Sales).contains(&"create_booking".to_owned()));
        assert!(names(ToolProfile::Booking).contains(&"create_booking".to_owned()));
        assert!(!names(ToolProfile::Readonly).contains(&"create_contact".to_owned()));
        assert!(!names(ToolProfile::General).contains(&"set_org_plan".to_owned()));
    }
}
