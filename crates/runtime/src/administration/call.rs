//! The frame of the administration tools: the operations of the calling agent, and what the
//! model is told about a refusal.

use std::marker::PhantomData;
use std::sync::Arc;

use ostler_domain::tool::{Audience, ToolSpec};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{DEFAULT_MAX_OUTPUT, Tool, ToolReply};
use ostler_store::StoreError;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::deps::Clock;
use crate::operations::{Actor, BotHost, OperationError, Operations, OrgOperations};
use crate::running_turns::RunningTurns;
use crate::turn_tool::{self, TurnCall, TurnTool, refused, unavailable};

/// A tool that administers orgs or agents.
pub(super) trait AdministrationTool: Send + Sync + 'static {
    /// The description that models receive.
    const DESCRIPTION: &'static str;
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Does what the call asks for, and returns what the model is told.
    fn run(
        arguments: Self::Arguments,
        call: &Administration<'_>,
    ) -> impl Future<Output = Result<String, OperationError>> + Send;
}

/// The operations of the calling agent.
pub(super) struct Administration<'c> {
    call: &'c TurnCall<'c>,
    pub(super) operations: Operations,
    pub(super) host: &'c dyn BotHost,
}

impl Administration<'_> {
    pub(super) const fn actor(&self) -> Actor {
        let context = self.call.context;
        Actor::Agent { id: context.agent, org: context.org }
    }

    /// Returns the operations of the agent's own org.
    pub(super) const fn own_org(&self) -> OrgOperations<'_> {
        self.operations.as_actor(self.actor(), self.call.context.org)
    }

    /// Returns the operations of the org that the model names, or of its own. An org that the
    /// agent may not see does not exist for it.
    pub(super) async fn org(
        &self,
        slug: Option<&str>,
    ) -> Result<OrgOperations<'_>, OperationError> {
        match slug.map(str::trim).filter(|slug| !slug.is_empty()) {
            None => Ok(self.own_org()),
            Some(slug) => {
                let org = self.operations.find_org(self.actor(), slug).await?;
                Ok(self.operations.as_actor(self.actor(), org))
            }
        }
    }
}

/// Makes a [`TurnTool`] of an [`AdministrationTool`].
struct Administrator<T> {
    host: Arc<dyn BotHost>,
    tool: PhantomData<fn() -> T>,
}

/// Builds the engine tool of `T`, with the policy facts of `spec`.
pub(super) fn build<T: AdministrationTool>(
    spec: ToolSpec,
    running_turns: &RunningTurns,
    host: &Arc<dyn BotHost>,
) -> Arc<dyn Tool> {
    let tool = Administrator::<T> { host: host.clone(), tool: PhantomData };
    turn_tool::build(tool, spec, running_turns)
}

impl<T: AdministrationTool> TurnTool for Administrator<T> {
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    type Arguments = T::Arguments;

    async fn run(
        &self,
        arguments: T::Arguments,
        call: &TurnCall<'_>,
    ) -> Result<ToolReply, ToolOutcome> {
        if call.context.audience == Audience::Customer {
            return Err(refused("Not in a conversation with a customer."));
        }
        let now = call.context.now;
        let operations = Operations::in_turn(call.org_views().clone(), Clock::from_fn(move || now));
        let administration = Administration { call, operations, host: &*self.host };
        let text = T::run(arguments, &administration).await;
        let text = text.map_err(|error| error_outcome(&error))?;
        Ok(ToolReply::Done(ToolOutcome::ok(text).truncated(DEFAULT_MAX_OUTPUT)))
    }
}

/// Returns what the model is told about an error. Internal errors are only logged.
fn error_outcome(error: &OperationError) -> ToolOutcome {
    let text = format!("Not done: {error}.");
    match error {
        OperationError::Store(StoreError::NotFound(_))
        | OperationError::NoOrg(_)
        | OperationError::NoAgent(_) => ToolOutcome::new(OutcomeStatus::NotFound, text),
        OperationError::Store(StoreError::ConfigChanged | StoreError::Conflict(_)) => {
            refused("Not done: somebody else changed it at the same time. Look at it again.")
        }
        OperationError::Store(error) => unavailable(error),
        OperationError::BadResource(_) => ToolOutcome::new(OutcomeStatus::Invalid, text),
        _ => refused(&text),
    }
}
