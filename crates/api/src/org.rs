//! Organizations and their members.

use std::num::NonZeroU32;

use ostler_domain::id::{InvitationId, OrgId, UserId};
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::PasswordLink;

/// An organization that the caller may view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrgSummary {
    pub id: OrgId,
    pub slug: String,
    pub name: String,
    /// The agency that it is a client of.
    pub parent: Option<OrgId>,
    /// Whether it runs the installation.
    pub platform: bool,
    pub plan: LicencePlan,
    pub time_zone: String,
    /// How long finished records are kept; `null` for ever.
    pub retention_days: Option<NonZeroU32>,
    pub archived: bool,
}

/// Body of `POST clients`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewClientRequest {
    /// The name in commands and addresses.
    pub slug: String,
    /// The name on screens and in prompts.
    pub name: String,
    /// The IANA name of its time zone, such as `Europe/Berlin`.
    pub time_zone: String,
    /// The e-mail addresses of its owners.
    #[serde(default)]
    pub owners: Vec<String>,
    /// Whether it gets a coordinator.
    #[serde(default)]
    pub coordinator: bool,
}

/// A client that was created, or that existed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedClient {
    pub org: OrgSummary,
    /// Whether it existed before, and at most missing parts were added.
    pub existed: bool,
    /// Why it has its project manager only; a repeat adds the rest.
    pub missing: Option<String>,
}

/// Body of `PUT models`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    /// As `provider/model`, in order of preference; the later ones are fallbacks.
    pub models: Vec<String>,
}

/// The models of agents that name none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChosenModels {
    pub before: Vec<String>,
    pub models: Vec<String>,
    /// What keeps a model from working on the machine of the server.
    pub notes: Vec<String>,
}

/// A member of an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    pub user: UserId,
    pub name: String,
    pub email: String,
    pub role: Role,
}

/// A person who is invited to an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Invitation {
    pub id: InvitationId,
    pub email: String,
    pub role: Role,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Body of `POST members`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMemberRequest {
    pub email: String,
    /// The name of a new account; the e-mail address without one.
    #[serde(default)]
    pub name: Option<String>,
    pub role: Role,
    /// Whether the answer has a link to choose a password, if the account has none.
    #[serde(default)]
    pub password_link: bool,
}

/// Response to `POST members`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddedMember {
    #[serde(flatten)]
    pub member: Member,
    /// If it was asked for. It is not shown again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_link: Option<PasswordLink>,
}

/// Body of `POST invitations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInvitationRequest {
    pub email: String,
    pub role: Role,
    /// How many days it is valid, up to 30; 7 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

/// Response to `POST invitations`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedInvitation {
    #[serde(flatten)]
    pub invitation: Invitation,
    /// The one-time code, `osi_…`. It is not shown again.
    pub code: String,
    /// The address that the person opens.
    pub link: String,
}

/// Response to `DELETE members/MEMBER`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RemovedPerson {
    /// A member who was removed.
    Removed { id: UserId, email: String, name: String, role: Role },
    /// An invitation that was withdrawn.
    Withdrawn { id: InvitationId, email: String, role: Role },
}

/// Body of `PATCH members/MEMBER`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleChange {
    pub role: Role,
}
