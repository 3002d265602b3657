//! The frame of the tools that work inside a conversation: makes the definition, parses the
//! arguments, and finds the turn and the agent of a call.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::tool::ToolSpec;
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_store::{OrgStore, StoreError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::org_view::{AgentView, OrgViews};
use crate::running_turns::{RunningTurn, RunningTurns};

/// A tool that works inside a conversation.
pub(crate) trait TurnTool: Send + Sync + 'static {
    /// The description that models receive.
    const DESCRIPTION: &'static str;
    /// Whether calls of one answer run one after the other, each seeing what those before it
    /// recorded.
    const SEQUENTIAL: bool = true;
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Runs a call. An error is an outcome too: what the model is told instead.
    fn run(
        &self,
        arguments: Self::Arguments,
        call: &TurnCall<'_>,
    ) -> impl Future<Output = Result<ToolReply, ToolOutcome>> + Send;
}

/// A call with the turn and the agent that it belongs to.
pub(crate) struct TurnCall<'c> {
    pub(crate) context: &'c ToolContext,
    pub(crate) turn: RunningTurn,
    /// The calling agent.
    pub(crate) agent: AgentView,
}

impl TurnCall<'_> {
    pub(crate) const fn org_views(&self) -> &OrgViews {
        &self.turn.org_views
    }

    /// Returns the own org's part of the store.
    pub(crate) fn store(&self) -> OrgStore<'_> {
        self.org_views().store().org(self.context.org)
    }
}

/// Returns the outcome of a call that a rule refuses.
pub(crate) fn refused(why: &(impl ToString + ?Sized)) -> ToolOutcome {
    ToolOutcome::new(OutcomeStatus::Refused, why.to_string())
}

/// Returns the outcome of a call for which the store is not available. Only the log has the
/// reason.
pub(crate) fn unavailable(error: &StoreError) -> ToolOutcome {
    tracing::warn!(%error, "tool call failed at the store");
    ToolOutcome::failed("This does not work at the moment; try again later.")
}

/// Makes an engine tool of a [`TurnTool`].
struct TurnToolAdapter<T> {
    definition: ToolDefinition,
    running_turns: RunningTurns,
    tool: T,
}

/// Builds the engine tool of `tool`, with the policy facts of `spec`. Repeating a call has no
/// further effect.
pub(crate) fn build<T: TurnTool>(
    tool: T,
    spec: ToolSpec,
    running_turns: &RunningTurns,
) -> Arc<dyn Tool> {
    let schema = schemars::schema_for!(T::Arguments).to_value();
    let definition = ToolDefinition {
        idempotent: true,
        sequential: T::SEQUENTIAL,
        ..ToolDefinition::new(spec, T::DESCRIPTION, schema)
    };
    Arc::new(TurnToolAdapter { definition, running_turns: running_turns.clone(), tool })
}

impl<T: TurnTool> TurnToolAdapter<T> {
    async fn run(
        &self,
        call: &Authorized,
        context: &ToolContext,
    ) -> Result<ToolReply, ToolOutcome> {
        let arguments = call.arguments::<T::Arguments>()?;
        let turn = context.session.and_then(|session| self.running_turns.get(session));
        let turn = turn.ok_or_else(|| ToolOutcome::failed("This works in a conversation only."))?;
        let agent = calling_agent(&turn, context).await?;
        self.tool.run(arguments, &TurnCall { context, turn, agent }).await
    }
}

/// Returns the agent of a call. A worker that was created for this turn is only in the store.
async fn calling_agent(
    turn: &RunningTurn,
    context: &ToolContext,
) -> Result<AgentView, ToolOutcome> {
    if let Some(known) = turn.view.agent(context.agent) {
        return Ok(known.clone());
    }
    let agents = turn.org_views.store().org(context.org).agent_configs().await;
    let agents = agents.map_err(|error| unavailable(&error))?;
    let found = agents.into_iter().find(|one| one.agent.id == context.agent);
    found.map(|config| AgentView::new(&turn.view.org, config)).ok_or_else(|| refused("Not here."))
}

impl<T: TurnTool> Tool for TurnToolAdapter<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        Box::pin(async move { self.run(call, context).await.unwrap_or_else(ToolReply::Done) })
    }
}
