//! The frame of the exchange tools: finds the turn of a call, and checks its effect by the same
//! plan that the commit uses.

use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::audit::AuditActor;
use ostler_domain::hierarchy::route::{NoRoute, Party};
use ostler_domain::hierarchy::{Decider, MissingField};
use ostler_domain::tool::ToolSpec;
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_store::{OrgStore, StoreError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::effect::ExchangeEffect;
use super::plan::{ExchangeError, Planner};
use crate::org_view::{AgentView, OrgViews};
use crate::running_turns::{RunningTurn, RunningTurns};

/// A tool that exchanges something with another business layer.
pub(super) trait ExchangeTool: Send + Sync + 'static {
    /// The description that models receive.
    const DESCRIPTION: &'static str;
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Returns the effect of a call and what the model is told.
    fn run(
        arguments: Self::Arguments,
        call: &ExchangeCall<'_>,
    ) -> impl Future<Output = Result<(ExchangeEffect, String), CallError>> + Send;
}

/// Why a call has no effect.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error(transparent)]
    NoRoute(#[from] NoRoute),
    #[error(transparent)]
    Missing(#[from] MissingField),
    #[error("{0}")]
    NotFound(String),
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> Self {
        Self::Exchange(error.into())
    }
}

/// A call with the turn that it belongs to.
pub(super) struct ExchangeCall<'c> {
    pub(super) context: &'c ToolContext,
    pub(super) turn: RunningTurn,
    pub(super) agent: AgentView,
}

impl ExchangeCall<'_> {
    pub(super) const fn org_views(&self) -> &OrgViews {
        &self.turn.org_views
    }

    /// Returns the own org's part of the store.
    pub(super) fn store(&self) -> OrgStore<'_> {
        self.org_views().store().org(self.context.org)
    }

    /// Returns the calling agent as the sender of something.
    pub(super) fn party(&self) -> Party {
        Party {
            org: self.context.org,
            agent: self.agent.agent.id,
            business_layer: self.agent.position.business_layer,
        }
    }

    /// Returns the calling agent in words.
    pub(super) fn sender(&self) -> String {
        format!("{} of {}", self.agent.agent.display_name, self.turn.view.org.name)
    }

    /// Returns the calling agent as somebody who decides.
    pub(super) fn decider(&self) -> Decider {
        Decider::Agent {
            agent: self.agent.agent.id,
            org: self.context.org,
            subtype: self.agent.agent.subtype.clone(),
        }
    }

    /// Checks an effect after those of the turn that are not stored yet.
    async fn check(&self, effect: &ExchangeEffect) -> Result<(), ExchangeError> {
        let actor = AuditActor::Agent(self.context.agent);
        let mut planner = Planner::new(self.store(), actor, self.context.now);
        for earlier in ExchangeEffect::select(&self.context.pending) {
            planner.add(earlier).await?;
        }
        planner.add(effect.clone()).await
    }
}

/// Makes an engine tool of an [`ExchangeTool`].
struct ExchangeToolAdapter<T> {
    definition: ToolDefinition,
    running_turns: RunningTurns,
    tool: PhantomData<fn() -> T>,
}

/// Builds the engine tool of `T`, with the policy facts of `spec`.
pub(super) fn build<T: ExchangeTool>(
    spec: ToolSpec,
    running_turns: &RunningTurns,
) -> Arc<dyn Tool> {
    let schema = schemars::schema_for!(T::Arguments).to_value();
    let definition = ToolDefinition {
        idempotent: true,
        sequential: true,
        ..ToolDefinition::new(spec, T::DESCRIPTION, schema)
    };
    Arc::new(ExchangeToolAdapter::<T> {
        definition,
        running_turns: running_turns.clone(),
        tool: PhantomData,
    })
}

impl<T: ExchangeTool> ExchangeToolAdapter<T> {
    async fn run(&self, call: &Authorized, context: &ToolContext) -> ToolOutcome {
        let arguments = match call.arguments::<T::Arguments>() {
            Ok(arguments) => arguments,
            Err(invalid) => return invalid,
        };
        let turn = context.session.and_then(|session| self.running_turns.get(session));
        let found = turn.and_then(|turn| {
            let agent = turn.view.agent(context.agent)?.clone();
            Some(ExchangeCall { context, turn, agent })
        });
        let Some(exchange) = found else {
            return ToolOutcome::failed("This works in a conversation only.");
        };
        let done = match T::run(arguments, &exchange).await {
            Ok((effect, text)) => match exchange.check(&effect).await {
                Ok(()) => Ok((effect, text)),
                Err(error) => Err(error.into()),
            },
            Err(error) => Err(error),
        };
        match done {
            Ok((effect, text)) => ToolOutcome::ok(text).with_effect(effect.into()),
            Err(error) => error_outcome(&error, &call.call().name),
        }
    }
}

impl<T: ExchangeTool> Tool for ExchangeToolAdapter<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        Box::pin(async move { ToolReply::Done(self.run(call, context).await) })
    }
}

/// Returns what the model is told about an error. Internal errors are only logged.
fn error_outcome(error: &CallError, tool: &str) -> ToolOutcome {
    let text = format!("Not done: {error}.");
    match error {
        CallError::Missing(_) => ToolOutcome::new(OutcomeStatus::Invalid, text),
        CallError::NotFound(_)
        | CallError::Exchange(ExchangeError::Store(StoreError::NotFound(_))) => {
            ToolOutcome::new(OutcomeStatus::NotFound, text)
        }
        CallError::Exchange(ExchangeError::Store(error)) => {
            tracing::warn!(tool, %error, "exchange tool failed");
            ToolOutcome::failed("The records are not available at the moment. Try again later.")
        }
        CallError::NoRoute(_) | CallError::Exchange(_) => {
            ToolOutcome::new(OutcomeStatus::Refused, text)
        }
    }
}
