//! Organizations: the tenants, their tree, and where an agent stands in it.
//!
//! Owns who is above whom and what that allows. It never looks at tools or
//! messages: those rules ask here.

pub mod duty;
pub mod guardrail;
pub mod layer;
pub mod plan;
pub mod role;
pub mod settings;
pub mod tree;

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::id::OrgId;
use plan::Plan;

/// Where an org is in the tree. There is one level of sub-orgs and no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The one org that runs the installation.
    Platform,
    /// An org of its own: an agency, or a business without one.
    TopLevel,
    /// A client of a top-level org.
    SubOrg {
        /// The agency above.
        parent: OrgId,
    },
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Org {
    /// Its id.
    pub id: OrgId,
    /// Its name in addresses and commands.
    pub slug: String,
    /// Its name on screens and in prompts.
    pub name: String,
    /// Where it is in the tree.
    pub place: Place,
    /// What it pays for.
    pub plan: Plan,
    /// The licence flag that opens the agency tools.
    pub sub_orgs_enabled: bool,
    /// The IANA name of its time zone.
    pub time_zone: String,
    /// What is over is deleted after so many days; kept for ever if there is no
    /// such number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<NonZeroU32>,
}

impl Org {
    /// The org above, if there is one.
    pub const fn parent(&self) -> Option<OrgId> {
        match self.place {
            Place::SubOrg { parent } => Some(parent),
            Place::Platform | Place::TopLevel => None,
        }
    }

    /// How `other` is related to this org.
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

/// How the org that an action touches is related to the acting one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The same org.
    Own,
    /// The agency above.
    Parent,
    /// A client below.
    Child,
    /// Any other org.
    Unrelated,
}
