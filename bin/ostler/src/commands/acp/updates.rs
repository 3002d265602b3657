//! Events of a harness as session updates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ContentBlock, ContentChunk,
    CurrentModeUpdate, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    TextContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, UnstructuredCommandInput,
};
use ostler_harness::{
    ContextCommand, ContextEvent, EventKind, HarnessEvent, HarnessMessage, HarnessMessageContent,
    MessageEvent, MessageRole, SessionEvent, TaskItem, TaskStatus, ToolEvent,
};
use ostler_workspace::workspace::Workspace;
use serde_json::Value;

use super::tool_call::{is_hidden, text_content, tool_call};

/// Output of a running command is sent again when it has grown by this part, so that the
/// work stays proportional to its length.
const GROWTH: usize = 16;

/// Turns the events of one session into updates.
pub(super) struct UpdateMapper {
    workspace: Arc<Workspace>,
    /// Calls that the client knows and that have not ended.
    announced: BTreeSet<String>,
    /// The message that streams in, and how many bytes of it were sent.
    streaming: Option<(String, usize)>,
    /// The output of running commands, and how much of it was sent.
    outputs: BTreeMap<String, (String, usize)>,
}

impl UpdateMapper {
    pub(super) fn new(workspace: Arc<Workspace>) -> Self {
        let (announced, outputs) = (BTreeSet::new(), BTreeMap::new());
        Self { workspace, announced, streaming: None, outputs }
    }

    /// Returns what an event tells the client.
    pub(super) fn updates(&mut self, event: &HarnessEvent) -> Vec<SessionUpdate> {
        match &event.kind {
            EventKind::Message(event) => self.message(event),
            EventKind::Tool(tool) => self.tool(event, tool),
            EventKind::Session(SessionEvent::TaskUpdated { tasks }) => vec![plan(tasks)],
            EventKind::Session(SessionEvent::ModeChanged { mode_id, .. }) => {
                vec![SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode_id.clone()))]
            }
            EventKind::Context(ContextEvent::ContextUpdated(report)) => {
                vec![commands(&report.commands)]
            }
            _ => Vec::new(),
        }
    }

    fn message(&mut self, event: &MessageEvent) -> Vec<SessionUpdate> {
        let (MessageEvent::MessageStart { message }
        | MessageEvent::MessageUpdate { message }
        | MessageEvent::MessageEnd { message }) = event;
        if message.role != MessageRole::Assistant {
            return Vec::new();
        }
        let text = text_of(message);
        let sent = match &self.streaming {
            // The model failed in the middle, and another attempt begins.
            Some((id, sent)) if *id == message.id && text.len() < *sent => {
                self.streaming = Some((message.id.clone(), 0));
                let note = "\n\n(The text above is discarded.)\n\n";
                return vec![chunk(note, &message.id)];
            }
            Some((id, sent)) if *id == message.id => *sent,
            _ => 0,
        };
        let ended = matches!(event, MessageEvent::MessageEnd { .. });
        self.streaming = (!ended).then(|| (message.id.clone(), text.len()));
        match text.get(sent..) {
            Some(rest) if !rest.is_empty() => vec![chunk(rest, &message.id)],
            _ => Vec::new(),
        }
    }

    fn tool(&mut self, event: &HarnessEvent, tool: &ToolEvent) -> Vec<SessionUpdate> {
        match tool {
            ToolEvent::ToolStart { tool_call_id, tool_name, args } => {
                if is_hidden(tool_name) {
                    return Vec::new();
                }
                let id = call_id(event, tool_call_id);
                let status = ToolCallStatus::InProgress;
                if self.announced.insert(id.clone()) {
                    let call = self.call(&id, tool_name, args).status(status);
                    return vec![SessionUpdate::ToolCall(call)];
                }
                vec![update(id, ToolCallUpdateFields::new().status(status))]
            }
            ToolEvent::ToolOutput { tool_call_id, text } => {
                let id = call_id(event, tool_call_id);
                let (output, sent) = self.outputs.entry(id.clone()).or_default();
                output.push_str(text);
                if output.len() - *sent < output.len() / GROWTH {
                    return Vec::new();
                }
                *sent = output.len();
                let content = vec![text_content(output)];
                vec![update(id, ToolCallUpdateFields::new().content(content))]
            }
            ToolEvent::ToolEnd { tool_call_id, result, is_error } => {
                let id = call_id(event, tool_call_id);
                self.outputs.remove(&id);
                if !self.announced.remove(&id) {
                    return Vec::new();
                }
                vec![update(id, ended_fields(event.ext.more.get("toolName"), result, *is_error))]
            }
        }
    }

    /// Returns a call as a client shows it, and remembers that the client knows it.
    pub(super) fn announce(&mut self, id: &str, tool: &str, args: &Value) -> SessionUpdate {
        self.announced.insert(id.to_owned());
        SessionUpdate::ToolCall(self.call(id, tool, args))
    }

    /// Returns a call with the text of the file that it is about to write.
    pub(super) fn call(
        &self,
        id: &str,
        tool: &str,
        args: &Value,
    ) -> agent_client_protocol::v1::schema::ToolCall {
        let files = self.workspace.files();
        let path = args.get("path").and_then(Value::as_str).filter(|_| tool == "write_file");
        let before = path.and_then(|path| files.read_text(path).ok());
        tool_call(id, tool, args, files.root(), before)
    }
}

/// Returns the id of a call that is unique in its session: calls of models are not.
pub(super) fn call_id(event: &HarnessEvent, call: &str) -> String {
    match event.ext.turn_id {
        Some(turn) => format!("{turn}/{call}"),
        None => call.to_owned(),
    }
}

/// Returns how a call ended. A difference that was shown stays.
pub(super) fn ended_fields(
    tool: Option<&Value>,
    result: &str,
    is_error: bool,
) -> ToolCallUpdateFields {
    let status = if is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    let fields = ToolCallUpdateFields::new().status(status).raw_output(Value::from(result));
    let shows_difference =
        matches!(tool.and_then(Value::as_str), Some("write_file" | "edit_file" | "apply_patch"));
    if shows_difference && !is_error {
        return fields;
    }
    fields.content(vec![text_content(result)])
}

fn update(id: String, fields: ToolCallUpdateFields) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))
}

/// Returns a part of an answer.
pub(super) fn chunk(text: &str, message: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(content_chunk(text, message))
}

pub(super) fn content_chunk(text: &str, message: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
        .message_id(agent_client_protocol::v1::schema::MessageId::new(message))
}

/// Returns the text of a message.
pub(super) fn text_of(message: &HarnessMessage) -> String {
    let texts = message.content.iter().filter_map(|part| match part {
        HarnessMessageContent::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Returns the task list.
pub(super) fn plan(tasks: &[TaskItem]) -> SessionUpdate {
    let entries = tasks.iter().map(|task| {
        let status = match task.status {
            TaskStatus::Pending => PlanEntryStatus::Pending,
            TaskStatus::InProgress => PlanEntryStatus::InProgress,
            TaskStatus::Completed => PlanEntryStatus::Completed,
        };
        PlanEntry::new(task.content.clone(), PlanEntryPriority::Medium, status)
    });
    SessionUpdate::Plan(Plan::new(entries.collect()))
}

/// Returns the commands that a prompt may begin with.
pub(super) fn commands(commands: &[ContextCommand]) -> SessionUpdate {
    let input = || AvailableCommandInput::Unstructured(UnstructuredCommandInput::new("arguments"));
    let shown = commands
        .iter()
        .map(|one| AvailableCommand::new(one.name.clone(), one.description.clone()).input(input()));
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(shown.collect()))
}
