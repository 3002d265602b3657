//! What an agent may call in a session, for an actor who may view the org.

use ostler_domain::id::SessionId;
use ostler_domain::org::permission::OrgPermission;

use super::explain::{SessionScope, fresh_scope, session_scope};
use super::{OperationError, OrgOperations, Result};
use crate::run_error::RunError;

impl OrgOperations<'_> {
    /// Returns the scope of an agent in a new conversation. The agent may be named by id, slug
    /// or subtype.
    pub async fn agent_tools(&self, agent: &str) -> Result<SessionScope> {
        self.authorize(OrgPermission::View).await?;
        let inner = self.inner();
        let scope = fresh_scope(&inner.store, &inner.tools, self.org, agent).await?;
        scope.ok_or_else(|| OperationError::NoAgent(agent.to_owned()))
    }

    /// Returns the scope that the next turn of a session would have, for its active agent or
    /// for another one.
    pub async fn session_tools(
        &self,
        session: SessionId,
        agent: Option<&str>,
    ) -> Result<SessionScope> {
        self.authorize(OrgPermission::View).await?;
        let inner = self.inner();
        let scope = session_scope(&inner.store, &inner.tools, self.org, session, agent).await?;
        scope.ok_or_else(|| match agent {
            Some(name) => OperationError::NoAgent(name.to_owned()),
            None => OperationError::NoAnsweringAgent,
        })
    }
}

impl From<RunError> for OperationError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Store(error) => Self::Store(error),
            RunError::Unreadable(error) => Self::Unreadable(error),
            other @ (RunError::Panicked | RunError::Outdated(_)) => {
                Self::BadResource(other.to_string())
            }
        }
    }
}
