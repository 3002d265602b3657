//! The routes of operators. Each calls one operation of the runtime and returns
//! its result as a wire type.

pub(crate) mod account_links;
pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod bindings;
pub(crate) mod catalogue;
pub(crate) mod contact_messages;
pub(crate) mod contacts;
pub(crate) mod credits;
pub(crate) mod data;
pub(crate) mod dead_letters;
pub(crate) mod deep_links;
pub(crate) mod escalations;
pub(crate) mod exchange;
pub(crate) mod inbox;
pub(crate) mod instructions;
pub(crate) mod keys;
pub(crate) mod knowledge;
pub(crate) mod list;
pub(crate) mod members;
pub(crate) mod models;
pub(crate) mod names;
pub(crate) mod notices;
pub(crate) mod own_tools;
pub(crate) mod people;
pub(crate) mod personal_export;
pub(crate) mod proposals;
pub(crate) mod refunds;
pub(crate) mod resources;
pub(crate) mod runs;
pub(crate) mod services;
pub(crate) mod session_work;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod souls;
pub(crate) mod tagged;
pub(crate) mod threads;
pub(crate) mod trials;
pub(crate) mod unknown_outcomes;
pub(crate) mod users;
pub(crate) mod webhooks;
pub(crate) mod workflow_schedules;
pub(crate) mod workflows;

use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use ostler_api::problem::ProblemCode;
use ostler_domain::id::OrgId;
use ostler_runtime::operations::world::ApplyHost;
use ostler_runtime::operations::{OperationError, OrgOperations};
use ostler_store::StoreError;

use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::route::access::unreadable_path;
use crate::server::{ADDRESS, Server};

/// The caller and the org of a request that may be made. Only the check of a route's entry in
/// the table puts it into the request.
#[derive(Clone)]
pub(crate) struct OrgRequest {
    server: Server,
    caller: Caller,
    org: OrgId,
    /// The address that the client uses for the server.
    host: String,
}

impl OrgRequest {
    pub(crate) fn new(server: Server, caller: Caller, org: OrgId, headers: &HeaderMap) -> Self {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.unwrap_or(ADDRESS).to_owned();
        Self { server, caller, org, host }
    }

    pub(crate) const fn server(&self) -> &Server {
        &self.server
    }

    pub(crate) const fn org(&self) -> OrgId {
        self.org
    }

    /// Returns the operations of the org on behalf of the caller.
    pub(crate) fn operations(&self) -> OrgOperations<'_> {
        self.server.deps.operations.as_actor(self.caller.actor(), self.org)
    }

    /// Returns the URL under which people reach the server.
    pub(crate) fn public_url(&self) -> String {
        let public = self.server.deps.public_url.clone();
        public.unwrap_or_else(|| format!("http://{}", self.host))
    }

    /// Returns the machine, for changes of the configuration.
    fn host(&self) -> &dyn ApplyHost {
        &*self.server.deps.host.0
    }

    /// Converts the error of an operation. For an org that the caller may not see, a
    /// refusal looks as if the org did not exist.
    pub(crate) fn hide_foreign_org<T>(
        &self,
        result: std::result::Result<T, OperationError>,
    ) -> Result<T> {
        result.map_err(|error| match error {
            OperationError::Forbidden { .. } if !self.caller.is_of(self.org) => {
                ApiError::not_found("organization")
            }
            other => other.into(),
        })
    }

    /// Does the same for an operation on an agent that a path names.
    fn of_named_agent<T>(&self, result: std::result::Result<T, OperationError>) -> Result<T> {
        match result {
            Err(OperationError::NoAgent(_)) => Err(ApiError::not_found("agent")),
            other => self.hide_foreign_org(other),
        }
    }
}

impl FromRequestParts<Server> for OrgRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<Self> {
        let allowed = parts.extensions.get::<Self>().cloned();
        allowed.ok_or_else(|| ApiError::internal(&"a route without authorization"))
    }
}

/// Returns the parameters of the path.
async fn path_parameters(parts: &mut Parts, server: &Server) -> Result<RawPathParams> {
    let parameters = RawPathParams::from_request_parts(parts, server).await;
    parameters.map_err(|_| unreadable_path())
}

/// Returns the org that an id or a slug names.
pub(crate) async fn find_org(server: &Server, name: &str) -> Result<OrgId> {
    if let Ok(id) = name.parse() {
        return match server.deps.store.org(id).org().await {
            Ok(org) => Ok(org.id),
            Err(StoreError::NotFound(_)) => Err(ApiError::not_found("organization")),
            Err(other) => Err(other.into()),
        };
    }
    let found = server.deps.store.org_by_slug(name).await?;
    found.ok_or_else(|| ApiError::not_found("organization"))
}

/// Returns the id that a path names: a whole id, or the end of one that `recent` lists.
pub(crate) async fn find_id<I: FromStr + Display>(
    text: &str,
    what: &str,
    recent: impl Future<Output = Result<Vec<I>>>,
) -> Result<I> {
    match text.parse() {
        Ok(id) => Ok(id),
        Err(_) => match_id(text, recent.await?.into_iter(), what),
    }
}

/// How many of the newest things are searched for the end of an id.
const SEARCH_LIMIT: u32 = 200;

/// Returns the id that ends with a text, as commands accept it: at least two characters,
/// after an optional `…`. What is ambiguous is refused.
fn match_id<I: Display>(text: &str, known: impl Iterator<Item = I>, what: &str) -> Result<I> {
    let end = text.rsplit('…').next().unwrap_or(text);
    let mut found = known.filter(|id| end.len() >= 2 && id.to_string().ends_with(end));
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id),
        (Some(one), Some(other)) => Err(ApiError::new(
            ProblemCode::Invalid,
            format!("several ids end in `{end}`, such as {one} and {other}; write more of it"),
        )),
        (None, _) => Err(ApiError::not_found(what)),
    }
}

/// The last parameter of the path.
pub(crate) struct PathId(pub(crate) String);

impl FromRequestParts<Server> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self> {
        let names = path_parameters(parts, server).await?;
        let last = names.iter().last().map(|(_, value)| value.to_owned());
        Ok(Self(last.unwrap_or_default()))
    }
}

/// The last two parameters of the path.
pub(crate) struct PathIds(pub(crate) String, pub(crate) String);

impl FromRequestParts<Server> for PathIds {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self> {
        let names = path_parameters(parts, server).await?;
        let values: Vec<&str> = names.iter().map(|(_, value)| value).collect();
        match values.as_slice() {
            [.., outer, inner] => Ok(Self((*outer).to_owned(), (*inner).to_owned())),
            _ => Err(ApiError::internal(&"a route with fewer than two parameters")),
        }
    }
}

#[cfg(test)]
mod tests {
    use ostler_api::problem::ProblemCode;

    use super::match_id;

    #[test]
    fn o23_an_id_is_named_by_its_end_unless_that_is_ambiguous() {
        let known = ["ses_01aa7x", "ses_01bb7y", "ses_01cc7y"];
        let found =
            |end: &str| match_id(end, known.into_iter(), "session").map_err(|error| error.0.code);
        assert_eq!(found("7x"), Ok("ses_01aa7x"));
        assert_eq!(found("ses_…c7y"), Ok("ses_01cc7y"));
        assert_eq!(found("7y"), Err(ProblemCode::Invalid));
        assert_eq!(found("x"), Err(ProblemCode::NotFound));
        assert_eq!(found("zz"), Err(ProblemCode::NotFound));
    }
}
