//! What all tools on files have in common.

use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec, Trust};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::WorkspaceError;
use crate::tools::{WorkspaceProvider, WorkspaceTools};
use crate::workspace::Workspace;

/// What a tool does with the files.
pub(super) trait FileOperation: Send + Sync + 'static {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const ACCESS: FileAccess;
    type Arguments: DeserializeOwned + Send + 'static;

    /// Returns the JSON Schema of the arguments.
    fn schema() -> Value;

    /// Does it and returns the text for the model.
    fn run(workspace: &Workspace, arguments: Self::Arguments) -> Result<String, WorkspaceError>;
}

/// What a tool may do, for policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAccess {
    Read,
    /// Changes files; a repeated call has no further effect.
    IdempotentEdit,
    Edit,
}

/// A tool on files.
pub(super) struct FileTool<O> {
    definition: ToolDefinition,
    provider: Arc<dyn WorkspaceProvider>,
    trust: Trust,
    operation: PhantomData<O>,
}

impl<O: FileOperation> FileTool<O> {
    pub(super) fn tool(tools: &WorkspaceTools) -> Arc<dyn Tool> {
        let name = ToolName::from_static(O::NAME);
        let spec = match O::ACCESS {
            FileAccess::Read => ToolSpec::read(name, ToolGroup::Custom),
            // A change cannot be part of the turn's commit.
            _ => ToolSpec::write(name, ToolGroup::Custom).external().priced(0),
        };
        let definition = ToolDefinition {
            idempotent: O::ACCESS != FileAccess::Edit,
            ..ToolDefinition::new(
                ToolSpec { output: tools.trust, ..spec },
                O::DESCRIPTION,
                O::schema(),
            )
        };
        let (provider, trust) = (tools.provider.clone(), tools.trust);
        Arc::new(Self { definition, provider, trust, operation: PhantomData })
    }

    async fn run(&self, call: &Authorized, context: &ToolContext) -> ToolOutcome {
        let arguments = match call.arguments::<O::Arguments>() {
            Ok(arguments) => arguments,
            Err(invalid) => return invalid,
        };
        let Some(workspace) = self.provider.workspace(context) else { return no_workspace() };
        let done = tokio::task::spawn_blocking(move || O::run(&workspace, arguments)).await;
        match done {
            Ok(Ok(text)) => ToolOutcome::ok(text),
            Ok(Err(error)) => error_outcome(&error),
            Err(_) => ToolOutcome::failed("The tool failed unexpectedly."),
        }
    }
}

impl<O: FileOperation> Tool for FileTool<O> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        Box::pin(async move {
            let outcome = self.run(call, context).await;
            let outcome = ToolOutcome { trust: self.trust, ..outcome };
            ToolReply::Done(outcome.truncated(self.definition.max_output))
        })
    }
}

/// Returns the outcome of a call without a workspace.
pub(super) fn no_workspace() -> ToolOutcome {
    ToolOutcome::new(OutcomeStatus::Refused, "There is no workspace here.")
}

/// Returns what the model is told about an error.
pub(super) fn error_outcome(error: &WorkspaceError) -> ToolOutcome {
    let status = match error {
        WorkspaceError::NotFound { .. }
        | WorkspaceError::NoMatch { .. }
        | WorkspaceError::UnknownTurn(_) => OutcomeStatus::NotFound,
        WorkspaceError::InvalidPath { .. } | WorkspaceError::Pattern(_) => OutcomeStatus::Invalid,
        WorkspaceError::Io { .. } | WorkspaceError::UndoData(_) => OutcomeStatus::Failed,
        // Nothing was done, and the tool works.
        _ => OutcomeStatus::Refused,
    };
    let text = error.to_string();
    let mut characters = text.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    ToolOutcome::new(status, format!("{}.", first.chain(characters).collect::<String>()))
}
