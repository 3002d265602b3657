//! Organizations: the tenants, their tree, and the business layers in it.
//!
//! Owns who is above whom and what that allows. Knows nothing of tools or messages.

pub mod account_link;
pub mod guardrail;
pub mod key_scope;
pub mod layer;
pub mod new_key;
pub mod people;
pub mod permission;
pub mod plan;
pub mod role;
pub mod settings;
pub mod sign_up;
pub mod tree;

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::OrgId;
use plan::{Allowance, CreditAllowance, LicencePlan, PeriodCredits};

/// Place of an org in the tree. There is exactly one level of sub-orgs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrgPlace {
    /// The one org that runs the installation.
    Platform,
    /// An agency, or a business without one.
    TopLevel,
    /// A client of a top-level org.
    SubOrg { parent: OrgId },
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Org {
    pub id: OrgId,
    /// The name in addresses and commands.
    pub slug: String,
    /// The name on screens and in prompts.
    pub name: String,
    pub place: OrgPlace,
    pub plan: LicencePlan,
    /// The licence flag that enables the agency tools.
    pub sub_orgs_enabled: bool,
    /// The IANA name of its time zone.
    pub time_zone: String,
    /// Ended sessions are deleted after this many days; `None` keeps them for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<NonZeroU32>,
    /// Retired: its channels are closed and it is not listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Credits per month and day, where they differ from the plan's.
    #[serde(default, skip_serializing_if = "CreditAllowance::is_empty")]
    pub credits: CreditAllowance,
}

impl Org {
    /// Returns the parent org, if there is one.
    pub const fn parent(&self) -> Option<OrgId> {
        match self.place {
            OrgPlace::SubOrg { parent } => Some(parent),
            OrgPlace::Platform | OrgPlace::TopLevel => None,
        }
    }

    /// Returns the credits that its account gets each month and day.
    pub fn period_credits(&self) -> PeriodCredits {
        let plan = PeriodCredits::from(self.plan);
        PeriodCredits {
            monthly: self.credits.monthly.map_or(plan.monthly, Allowance::UpTo),
            daily: self.credits.daily.map_or(plan.daily, Allowance::UpTo),
        }
    }

    /// Returns how `other` is related to this org.
    pub fn relation_to(&self, other: &Self) -> Relation {
        if self.id == other.id {
            Relation::Own
        } else if self.parent() == Some(other.id) {
            Relation::Parent
        } else if other.parent() == Some(self.id) {
            Relation::Child
        } else {
            Relation::Unrelated
        }
    }
}

/// How the org that an action affects is related to the acting org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    Own,
    Parent,
    Child,
    Unrelated,
}
