//! Log-in of people and their own accounts: `/v1/login`, `/v1/activate`, `/v1/me/…`.
//!
//! A logged-in browser sends a cookie that only the server reads. A change with it needs the
//! header [`CSRF_HEADER`], which no page of another site can send.

use ostler_domain::id::{LoginId, UserId};
use ostler_domain::org::role::Role;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The header that a change with a cookie needs; its value does not matter.
pub const CSRF_HEADER: &str = "ostler-csrf";

/// Body of `POST /v1/login`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginRequest {
    pub email: String,
    pub password: String,
}

/// An identity provider that people can log in with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginProvider {
    pub name: String,
    /// Where a browser begins.
    pub url: String,
}

/// Query of `GET /v1/activate`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivationQuery {
    pub code: String,
}

/// What a one-time code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivationKind {
    /// It sets the password of an account.
    Password,
    /// It makes somebody a member of an organization.
    Invitation,
}

/// What a one-time code is for, and how to use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activation {
    pub kind: ActivationKind,
    pub email: String,
    /// The organization that an invitation is to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    pub expires_at: Timestamp,
    /// Whether a password has to be chosen. An account that has one keeps it when its user
    /// accepts an invitation.
    pub needs_password: bool,
    /// What to do next, for people.
    pub next: String,
}

/// Body of `POST /v1/activate`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivateRequest {
    pub code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The name of the person, for a new account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Response to `POST /v1/activate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activated {
    pub user: UserId,
    pub email: String,
    /// Whether the browser is logged in now. It is not if the account had a password before.
    pub logged_in: bool,
}

/// Body of `PUT /v1/me/password`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePasswordRequest {
    pub current: String,
    pub new: String,
}

/// A logged-in browser of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginSession {
    pub id: LoginId,
    /// Whether it is the one that the request was made with.
    pub current: bool,
    /// `password`, `code`, or the name of an identity provider.
    pub method: String,
    pub address: String,
    /// How the browser describes itself.
    pub client: String,
    pub created_at: Timestamp,
    pub used_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Response to `POST /v1/orgs/ORG/members/MEMBER/password-code`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PasswordLink {
    pub user: UserId,
    pub email: String,
    pub code: String,
    /// The address that the person opens.
    pub link: String,
    pub expires_at: Timestamp,
}

/// Response to `DELETE /v1/orgs/ORG/members/MEMBER/logins`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndedLogins {
    pub ended: u64,
}
