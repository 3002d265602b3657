//! What a route needs, and the one place where that is checked before its handler runs. The
//! operations check again what they are asked for.

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use ostler_api::problem::ProblemCode;
use ostler_domain::org::permission::OrgPermission;

use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::orgs::{OrgRequest, find_org};
use crate::server::Server;

/// What a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing.
    Public,
    /// A page that may embed the web chat; the handler looks at the visitor's token.
    Visitor,
    /// A message that the channel of the binding verifies.
    Signed,
    /// Nothing before; the request itself proves who somebody is, with a password or a
    /// one-time code.
    LogIn,
    /// A valid key or log-in.
    Caller,
    /// A key with a permission in the org of the path.
    Org(OrgPermission),
}

impl From<OrgPermission> for Access {
    fn from(permission: OrgPermission) -> Self {
        Self::Org(permission)
    }
}

impl Access {
    /// Returns the beginning of the paths of such routes.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::Public => "",
            Self::Visitor => "/chat/{binding}",
            Self::Signed | Self::LogIn | Self::Caller => "/v1",
            Self::Org(_) => "/v1/orgs/{org}",
        }
    }

    /// Whether the route needs a key.
    pub(crate) const fn needs_caller(self) -> bool {
        matches!(self, Self::Caller | Self::Org(_))
    }

    /// Returns the name in the document.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Visitor => "visitor",
            Self::Signed => "signed",
            Self::LogIn => "log_in",
            Self::Caller => "caller",
            Self::Org(OrgPermission::View) => "view",
            Self::Org(OrgPermission::Operate) => "operate",
            Self::Org(OrgPermission::Configure) => "configure",
            Self::Org(OrgPermission::GrantCredits) => "grant_credits",
            Self::Org(OrgPermission::ManagePeople) => "manage_people",
        }
    }
}

/// A permission in the org of the path, and the server that checks it.
#[derive(Debug, Clone)]
pub(crate) struct OrgAccess {
    pub(crate) server: Server,
    pub(crate) permission: OrgPermission,
}

/// Middleware: lets a request through whose caller has the permission in the org of the path,
/// and hands the handler that org.
pub(crate) async fn authorize(
    State(access): State<OrgAccess>,
    params: std::result::Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    let OrgAccess { server, permission } = access;
    let params = params.map_err(|_| unreadable_path())?;
    let name = params.iter().find(|(name, _)| *name == "org").map(|(_, value)| value);
    let org = find_org(&server, name.unwrap_or_default()).await?;
    let caller = request.extensions().get::<Caller>().cloned();
    let caller = caller.ok_or_else(|| ApiError::internal(&"a route without authentication"))?;
    let org_request = OrgRequest::new(server.clone(), caller, org, request.headers());
    org_request.hide_foreign_org(org_request.operations().check(permission).await)?;
    request.extensions_mut().insert(org_request);
    Ok(next.run(request).await)
}

/// Returns the problem of a path with invalid percent-encoding.
pub(crate) fn unreadable_path() -> ApiError {
    ApiError::new(ProblemCode::BadRequest, "the path is not valid UTF-8")
}
