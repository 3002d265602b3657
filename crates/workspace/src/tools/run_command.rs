//! The `run_command` tool.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_domain::tool::{ToolCategory, ToolGroup, ToolName, ToolSpec, Trust};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use serde::Deserialize;
use serde_json::json;

use crate::sandbox::{
    CommandEnd, CommandError, CommandOutput, CommandRequest, CommandResult, DiscardOutput,
    OutputStream,
};
use crate::tools::WorkspaceTools;
use crate::tools::file_tool::{error_outcome, no_workspace};

const DESCRIPTION: &str = "Runs a command line with sh in the workspace and returns its output \
    and exit code. The command is sandboxed: it can only change files of the workspace and its \
    own $TMPDIR. It has no standard input, and all its processes end with it.";
/// Time for the sandbox itself, so that the command reaches its own limit first.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    #[serde(default)]
    directory: String,
    #[serde(default)]
    timeout_secs: Option<u64>,
}

/// The tool that runs commands.
pub(super) struct RunCommand {
    definition: ToolDefinition,
    tools: WorkspaceTools,
}

impl RunCommand {
    pub(super) fn tool(tools: WorkspaceTools) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            category: ToolCategory::Execute,
            output: output_trust(&tools),
            ..ToolSpec::write(ToolName::from_static("run_command"), ToolGroup::Custom)
                .external()
                .destructive()
                .priced(0)
        };
        let max_secs = tools.limits.time.as_secs().max(1);
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1, "description": "The command line."},
                "directory": {"type": "string", "description": "The working directory, relative to the workspace."},
                "timeout_secs": {"type": "integer", "minimum": 1, "maximum": max_secs, "description": "The time limit in seconds."}
            },
            "required": ["command"],
            "additionalProperties": false
        });
        let definition = ToolDefinition {
            timeout: tools.limits.time + TIMEOUT_MARGIN,
            ..ToolDefinition::new(spec, DESCRIPTION, schema)
        };
        Arc::new(Self { definition, tools })
    }

    async fn run(&self, call: &Authorized, context: &ToolContext) -> ToolOutcome {
        let arguments = match call.arguments::<Arguments>() {
            Ok(arguments) => arguments,
            Err(invalid) => return invalid,
        };
        let Some(workspace) = self.tools.provider.workspace(context) else { return no_workspace() };
        let request = self.request(arguments, context);
        let listener = self.tools.listener.as_ref();
        let output = listener.map(|listener| listener.listen(&call.call().id, context));
        let output: Arc<dyn CommandOutput> = output.unwrap_or_else(|| Arc::new(DiscardOutput));
        match workspace.run(&request, &*output).await {
            Ok(run) => {
                if let Some(why) = run.not_undoable.filter(|_| workspace.undo().is_some()) {
                    output
                        .write(OutputStream::Stderr, format!("[not undoable: {why}]\n").as_bytes());
                }
                command_outcome(&run.result, request.limits.time)
            }
            Err(CommandError::Workspace(error)) => error_outcome(&error),
            Err(error @ CommandError::NoSandbox { .. }) => {
                ToolOutcome::new(OutcomeStatus::Refused, format!("Not run: {error}."))
            }
            Err(error) => ToolOutcome::failed(format!("Not run: {error}.")),
        }
    }

    fn request(&self, arguments: Arguments, context: &ToolContext) -> CommandRequest {
        let mut limits = self.tools.limits.clone();
        let asked = arguments.timeout_secs.map(Duration::from_secs);
        limits.time = asked.map_or(limits.time, |asked| asked.min(limits.time));
        CommandRequest {
            directory: arguments.directory,
            network: self.tools.network,
            limits,
            unsandboxed: self.tools.provider.unsandboxed(context),
            ..CommandRequest::shell(arguments.command)
        }
    }
}

impl Tool for RunCommand {
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
            let outcome = ToolOutcome { trust: output_trust(&self.tools), ..outcome };
            ToolReply::Done(outcome.truncated(self.definition.max_output))
        })
    }
}

/// With the network, the output may come from outside.
fn output_trust(tools: &WorkspaceTools) -> Trust {
    let of_network = if tools.network { Trust::Untrusted } else { Trust::Trusted };
    tools.trust.after_reading(of_network)
}

/// Returns what the model is told. A command that was run is done, whatever its exit code:
/// many programs answer a question with it. Only a command that was killed has failed.
fn command_outcome(result: &CommandResult, time: Duration) -> ToolOutcome {
    let mut text = result.output.text();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let note = |text: &str| format!("[{text}]");
    let (status, end) = match result.end {
        CommandEnd::Exited(code) => (OutcomeStatus::Ok, note(&format!("exit code {code}"))),
        CommandEnd::TimedOut => {
            let why = format!("killed after {} s: the time limit", time.as_secs());
            (OutcomeStatus::TimedOut, note(&why))
        }
        CommandEnd::OutputLimit => {
            let why = format!("killed after {} bytes of output", result.output.total_bytes());
            (OutcomeStatus::Failed, note(&why))
        }
    };
    let mut notes = vec![end];
    if result.out_of_memory {
        notes.push(note("a process was killed: the memory limit"));
    }
    if result.out_of_processes {
        notes.push(note("a process could not be started: the limit of processes"));
    }
    ToolOutcome::new(status, text + &notes.join("\n"))
}
