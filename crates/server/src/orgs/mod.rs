//! The routes of operators. Each calls one operation of the runtime and returns
//! its result as a wire type.

pub(crate) mod approvals;
pub(crate) mod credits;
pub(crate) mod dead_letters;
pub(crate) mod escalations;
pub(crate) mod knowledge;
pub(crate) mod notices;
pub(crate) mod sessions;
pub(crate) mod unknown_outcomes;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use ostler_api::problem::ProblemCode;
use ostler_domain::id::OrgId;
use ostler_runtime::operations::{Actor, OperationError, OrgOperations};

use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::server::Server;

/// The caller and the org of a request.
pub(crate) struct OrgRequest {
    server: Server,
    actor: Actor,
    /// The org of the caller's key.
    key_org: OrgId,
    org: OrgId,
}

impl OrgRequest {
    /// Returns the operations of the org on behalf of the caller.
    fn operations(&self) -> OrgOperations<'_> {
        self.server.deps.operations.as_actor(self.actor, self.org)
    }

    /// Converts the error of an operation. For an org that the caller may not see, a
    /// refusal looks as if the org did not exist.
    fn hide_foreign_org<T>(&self, result: std::result::Result<T, OperationError>) -> Result<T> {
        result.map_err(|error| match error {
            OperationError::Forbidden { .. } if self.org != self.key_org => {
                ApiError::not_found("organization")
            }
            other => other.into(),
        })
    }
}

impl FromRequestParts<Server> for OrgRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self> {
        let names = path_parameters(parts, server).await?;
        let org = names.iter().find(|(name, _)| *name == "org").map(|(_, value)| value);
        let org = find_org(server, org.unwrap_or_default()).await?;
        let caller = parts.extensions.get::<Caller>();
        let caller = caller.ok_or_else(|| ApiError::internal(&"a route without authentication"))?;
        Ok(Self { server: server.clone(), actor: caller.actor(), key_org: caller.org, org })
    }
}

/// Returns the parameters of the path.
async fn path_parameters(parts: &mut Parts, server: &Server) -> Result<RawPathParams> {
    let parameters = RawPathParams::from_request_parts(parts, server).await;
    parameters.map_err(|_| ApiError::new(ProblemCode::BadRequest, "the path is not valid UTF-8"))
}

/// Returns the org that an id or a slug names.
async fn find_org(server: &Server, name: &str) -> Result<OrgId> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let found = server.deps.store.org_by_slug(name).await?;
    found.ok_or_else(|| ApiError::not_found("organization"))
}

/// The last parameter of the path.
pub(crate) struct PathId(String);

impl FromRequestParts<Server> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self> {
        let names = path_parameters(parts, server).await?;
        let last = names.iter().last().map(|(_, value)| value.to_owned());
        Ok(Self(last.unwrap_or_default()))
    }
}
