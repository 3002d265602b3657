//! What all tools on the store share: arguments in, an outcome out, and one org.

use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::tool::ToolSpec;
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{Outcome, Status};
use ostler_engine::tool::{Definition, MAX_OUTPUT, Reply, Tool, ToolContext};
use ostler_store::{OrgStore, Store};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::effects::{EffectError, StoreEffect};
use crate::schema;
use crate::view::View;
use crate::when::Clock;

/// A tool on the store.
pub(crate) trait LocalTool: Send + Sync + 'static {
    /// What a model is told it does.
    const DESCRIPTION: &'static str;
    /// What it is called with.
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Does it, at a desk of one org.
    fn run(
        arguments: Self::Arguments,
        desk: Desk<'_>,
    ) -> impl Future<Output = Result<Outcome, Problem>> + Send;
}

/// Why a tool came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The model asked for something that makes no sense, and is told what would.
    #[error("{0}")]
    Correct(String),
    /// The business says no. That is an answer and no failure.
    #[error("{0}")]
    Declined(String),
    /// It could not be looked up or worked out.
    #[error(transparent)]
    Effect(#[from] EffectError),
}

impl From<ostler_store::StoreError> for Problem {
    fn from(error: ostler_store::StoreError) -> Self {
        Self::Effect(error.into())
    }
}

/// Where a call of a tool works: one org, as it is after what the turn has done.
pub(crate) struct Desk<'c> {
    pub(crate) view: View<'c>,
    pub(crate) context: &'c ToolContext,
}

impl<'c> Desk<'c> {
    async fn open(store: &'c Store, context: &'c ToolContext) -> Result<Self, EffectError> {
        let mut view = View::new(store.org(context.org));
        for effect in context.pending.iter() {
            let Ok(effect) = StoreEffect::try_from(effect) else { continue };
            match view.perform(&effect).await {
                // Others were faster: whoever commits the turn will see that too.
                Err(error) if error.is_conflict() => {}
                other => other?,
            }
        }
        Ok(Self { view, context })
    }

    /// The store of the org.
    pub(crate) const fn org(&self) -> OrgStore<'c> {
        self.view.org()
    }

    /// The time, where the org is.
    pub(crate) async fn clock(&self) -> Result<Clock, Problem> {
        let org = self.org().org().await?;
        Ok(Clock::new(self.context.now, &org.time_zone))
    }

    /// Makes sure that an effect can be had, and answers with it.
    pub(crate) async fn done(
        mut self,
        effect: StoreEffect,
        told: &Value,
    ) -> Result<Outcome, Problem> {
        self.view.perform(&effect).await?;
        Ok(answer(told).with(effect.into()))
    }
}

/// An answer in JSON.
pub(crate) fn answer(told: &Value) -> Outcome {
    Outcome::ok(told.to_string())
}

/// The tool `T` on a store.
pub(crate) struct Local<T> {
    store: Store,
    definition: Definition,
    tool: PhantomData<fn() -> T>,
}

/// The tool `T` on a store, as policy knows it.
pub(crate) fn tool<T: LocalTool>(spec: ToolSpec, store: &Store) -> Arc<dyn Tool> {
    let definition = Definition {
        idempotent: true,
        ..Definition::new(spec, T::DESCRIPTION, schema::of::<T::Arguments>())
    };
    Arc::new(Local::<T> { store: store.clone(), definition, tool: PhantomData })
}

impl<T: LocalTool> Tool for Local<T> {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, context: &'a ToolContext) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let outcome = match call.arguments::<T::Arguments>() {
                Err(misfit) => misfit,
                Ok(arguments) => match self.run(arguments, context).await {
                    Ok(outcome) => outcome,
                    Err(problem) => told(&problem, &call.call().name),
                },
            };
            Reply::Done(outcome.capped(MAX_OUTPUT))
        })
    }
}

impl<T: LocalTool> Local<T> {
    async fn run(
        &self,
        arguments: T::Arguments,
        context: &ToolContext,
    ) -> Result<Outcome, Problem> {
        T::run(arguments, Desk::open(&self.store, context).await?).await
    }
}

/// What the model is told of a problem. What went wrong inside is for the log.
fn told(problem: &Problem, tool: &str) -> Outcome {
    match problem {
        Problem::Correct(why) => Outcome::of(Status::Invalid, why.clone()),
        Problem::Declined(why) => Outcome::ok(why.clone()),
        Problem::Effect(full @ EffectError::Full { .. }) => {
            Outcome::ok(format!("Not booked: {full}. Offer another time."))
        }
        Problem::Effect(EffectError::NotRefundable(why)) => {
            Outcome::ok(format!("Not refunded: {why}."))
        }
        Problem::Effect(error @ EffectError::NotBookable(_)) => {
            Outcome::of(Status::Invalid, format!("Not booked: {error}."))
        }
        Problem::Effect(
            error @ (EffectError::NoContact(_)
            | EffectError::NoBooking(_)
            | EffectError::NoOrder(_)
            | EffectError::NoOffer(_)),
        ) => Outcome::of(Status::Invalid, format!("{}.", sentence(&error.to_string()))),
        Problem::Effect(error) => {
            tracing::warn!(tool, error = %error, "a tool could not use the store");
            Outcome::failed("The records cannot be reached at the moment. Try again later.")
        }
    }
}

/// The same with a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
