//! Tool profiles: ready-made selections by what an agent is for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ToolGroup::{
    Bookings, Crm, CrossLayer, Knowledge, Media, Offers, Orders, Outreach, Team,
};
use super::{Risk, ToolGroup, ToolRole, ToolSpec};
use crate::agent::subtype::Subtype;

/// A selection of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Profile {
    /// No selection: written `*`.
    Everything,
    /// All but the administration of the installation.
    General,
    /// Answering customers.
    Support,
    /// Selling.
    Sales,
    /// Taking bookings.
    Booking,
    /// Looking things up.
    Readonly,
    /// All.
    Admin,
}

/// There is no such profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool profile `{0}`; there are: *, general, support, sales, booking, readonly, admin")]
pub struct UnknownProfile(String);

const SUPPORT: &[ToolGroup] = &[Crm, Offers, Bookings, Orders, Media, Knowledge, CrossLayer, Team];
const SALES: &[ToolGroup] = &[Crm, Offers, Media, Knowledge, Outreach, CrossLayer, Team];
const BOOKING: &[ToolGroup] = &[Crm, Offers, Bookings, Knowledge, CrossLayer, Team];

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 7] = [
        Self::Everything,
        Self::General,
        Self::Support,
        Self::Sales,
        Self::Booking,
        Self::Readonly,
        Self::Admin,
    ];

    /// The name as it is stored and shown.
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

    /// The profile that a new agent of a subtype gets.
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

    /// Whether the profile has this tool.
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

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.name() == name)
            .ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}

impl TryFrom<String> for Profile {
    type Error = UnknownProfile;

    fn try_from(name: String) -> Result<Self, UnknownProfile> {
        name.parse()
    }
}

impl From<Profile> for String {
    fn from(profile: Profile) -> Self {
        profile.name().to_owned()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;
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
            assert_eq!(Profile::default_for(&Subtype::from(subtype)).name(), profile, "{subtype}");
        }
    }

    #[test]
    fn a_profile_is_read_by_its_name() {
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
        }
        let why = "everything".parse::<Profile>().unwrap_err().to_string();
        assert!(why.contains("there are: *, general"), "{why}");
    }

    #[test]
    fn profiles_select_what_they_are_named_for() {
        let names = |profile: Profile| -> Vec<String> {
            let tools = built_in().into_iter();
            tools.filter(|tool| profile.includes(tool)).map(|tool| tool.name.to_string()).collect()
        };
        assert_eq!(names(Profile::Everything).len(), built_in().len());
        assert!(!names(Profile::Support).contains(&"send_bulk_email".to_owned()));
        assert!(names(Profile::Sales).contains(&"send_email".to_owned()));
        assert!(!names(Profile::Sales).contains(&"create_booking".to_owned()));
        assert!(names(Profile::Booking).contains(&"create_booking".to_owned()));
        assert!(!names(Profile::Readonly).contains(&"create_contact".to_owned()));
        assert!(!names(Profile::General).contains(&"set_org_plan".to_owned()));
    }
}
