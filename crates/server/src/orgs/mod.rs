//! What operators do in an org: each route calls one operation and shows what
//! came of it.

pub(crate) mod approvals;
pub(crate) mod credits;
pub(crate) mod dead_letters;
pub(crate) mod escalations;
pub(crate) mod knowledge;
pub(crate) mod notices;
pub(crate) mod sessions;
pub(crate) mod unknown_calls;
mod view;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use ostler_domain::id::OrgId;
use ostler_runtime::operations::{Actor, Office, OperationError};

use crate::body;
use crate::caller::Caller;
use crate::refused::{Refused, Result};
use crate::server::Server;

/// Who asks, and in which org.
pub(crate) struct Desk {
    server: Server,
    actor: Actor,
    /// The org that the key belongs to.
    home: OrgId,
    org: OrgId,
}

impl Desk {
    /// What they can do there.
    fn office(&self) -> Office<'_> {
        self.server.parts.operations.as_actor(self.actor, self.org)
    }

    /// What came of an operation. Of another org nobody learns that it is there.
    fn came<T>(&self, of: std::result::Result<T, OperationError>) -> Result<T> {
        of.map_err(|error| match error {
            OperationError::Forbidden { .. } if self.org != self.home => {
                Refused::not_found("organization")
            }
            other => other.into(),
        })
    }
}

impl FromRequestParts<Server> for Desk {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self> {
        let names = RawPathParams::from_request_parts(parts, server).await;
        let names = names.map_err(|error| Refused::internal(&error))?;
        let org = names.iter().find(|(name, _)| *name == "org").map(|(_, value)| value);
        let org = body::id(org.unwrap_or_default(), "organization")?;
        let caller = parts.extensions.get::<Caller>();
        let caller = caller.ok_or_else(|| Refused::internal(&"a route without a key"))?;
        Ok(Self { server: server.clone(), actor: caller.actor(), home: caller.org, org })
    }
}

/// The last name in a path.
pub(crate) struct Named(String);

impl FromRequestParts<Server> for Named {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self> {
        let names = RawPathParams::from_request_parts(parts, server).await;
        let names = names.map_err(|error| Refused::internal(&error))?;
        let last = names.iter().last().map(|(_, value)| value.to_owned());
        Ok(Self(last.unwrap_or_default()))
    }
}
