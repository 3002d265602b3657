//! The frame of the exchange tools: checks the effect of a call by the same plan that the
//! commit uses.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use ostler_domain::audit::AuditActor;
use ostler_domain::hierarchy::route::{NoRoute, Party};
use ostler_domain::hierarchy::{Decider, MissingField};
use ostler_domain::tool::ToolSpec;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolReply};
use ostler_store::StoreError;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::effect::ExchangeEffect;
use super::plan::{ExchangeError, Planner};
use crate::running_turns::RunningTurns;
use crate::turn_tool::{self, TurnCall, TurnTool, unavailable};

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

/// A call of an exchange tool.
pub(super) struct ExchangeCall<'c>(&'c TurnCall<'c>);

impl<'c> Deref for ExchangeCall<'c> {
    type Target = TurnCall<'c>;

    fn deref(&self) -> &TurnCall<'c> {
        self.0
    }
}

impl ExchangeCall<'_> {
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

/// Makes a [`TurnTool`] of an [`ExchangeTool`].
struct Exchange<T>(PhantomData<fn() -> T>);

/// Builds the engine tool of `T`, with the policy facts of `spec`.
pub(super) fn build<T: ExchangeTool>(
    spec: ToolSpec,
    running_turns: &RunningTurns,
) -> Arc<dyn Tool> {
    turn_tool::build(Exchange::<T>(PhantomData), spec, running_turns)
}

impl<T: ExchangeTool> TurnTool for Exchange<T> {
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    type Arguments = T::Arguments;

    async fn run(
        &self,
        arguments: T::Arguments,
        call: &TurnCall<'_>,
    ) -> Result<ToolReply, ToolOutcome> {
        let exchange = ExchangeCall(call);
        let done = match T::run(arguments, &exchange).await {
            Ok((effect, text)) => match exchange.check(&effect).await {
                Ok(()) => Ok((effect, text)),
                Err(error) => Err(error.into()),
            },
            Err(error) => Err(error),
        };
        let (effect, text) = done.map_err(|error| error_outcome(&error))?;
        Ok(ToolReply::Done(ToolOutcome::ok(text).with_effect(effect.into())))
    }
}

/// Returns what the model is told about an error. Internal errors are only logged.
fn error_outcome(error: &CallError) -> ToolOutcome {
    let text = format!("Not done: {error}.");
    match error {
        CallError::Missing(_) => ToolOutcome::new(OutcomeStatus::Invalid, text),
        CallError::NotFound(_)
        | CallError::Exchange(ExchangeError::Store(StoreError::NotFound(_))) => {
            ToolOutcome::new(OutcomeStatus::NotFound, text)
        }
        CallError::Exchange(ExchangeError::Store(error)) => unavailable(error),
        CallError::NoRoute(_) | CallError::Exchange(_) => {
            ToolOutcome::new(OutcomeStatus::Refused, text)
        }
    }
}
