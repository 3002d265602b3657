//! Stored messages fold into the cells that their events made.

use ostler_api::thread_event::{ThreadMessage, ThreadMessagePart};
use serde_json::Value;

use super::fold::has_own_form;
use super::{AskKind, Cell, ToolCell, ToolStatus, Transcript};
use crate::text::sanitize::{one_line, sanitize};

impl Transcript {
    /// Takes the messages of a thread that was opened.
    pub(crate) fn load(&mut self, messages: &[ThreadMessage]) {
        for message in messages {
            self.message(message, true);
        }
    }

    pub(super) fn stored_calls(&mut self, message: &ThreadMessage) {
        // The id of a message begins with its turn.
        let turn = message.id.rsplit_once('-').map_or("", |(turn, _)| turn);
        for part in &message.content {
            match part {
                ThreadMessagePart::ToolCall { tool_call_id, tool_name, args } => {
                    self.stored_call(format!("{turn}/{tool_call_id}"), tool_name, args);
                }
                ThreadMessagePart::ToolResult { tool_call_id, result, is_error } => {
                    self.stored_result(&format!("{turn}/{tool_call_id}"), result, *is_error);
                }
                _ => {}
            }
        }
    }

    fn stored_call(&mut self, id: String, tool: &str, args: &Value) {
        let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
        match tool {
            "ask_user" => {
                self.asked = Some(AskKind::Question {
                    question: sanitize(text("question")).into_owned(),
                    options: Vec::new(),
                });
                self.own_form_calls.insert(id, tool.to_owned());
            }
            "submit_plan" => {
                let title = args.get("title").and_then(Value::as_str).map(one_line);
                self.asked =
                    Some(AskKind::Plan { title, plan: sanitize(text("plan")).into_owned() });
                self.own_form_calls.insert(id, tool.to_owned());
            }
            "task_write" => {
                if let Some(tasks) =
                    args.get("tasks").and_then(|tasks| serde_json::from_value(tasks.clone()).ok())
                {
                    self.cells.push(Cell::Tasks { tasks, whole: false });
                }
            }
            tool if has_own_form(tool) => {}
            _ => {
                let mut call = ToolCell::new(id, tool, args.clone(), 0);
                call.status = ToolStatus::Abandoned;
                self.cells.push(Cell::Tool(call));
            }
        }
    }

    fn stored_result(&mut self, id: &str, result: &str, is_error: bool) {
        if let Some(tool) = self.own_form_calls.remove(id) {
            return self.own_form_ended(&tool, result, is_error);
        }
        let call = self.cells.iter_mut().rev().find_map(|cell| match cell {
            Cell::Tool(call) if call.id == id => Some(call),
            _ => None,
        });
        if let Some(call) = call {
            // What was said no to is not told apart from what failed.
            let is_refused = result.starts_with("A person rejected this call");
            let status = match (is_refused, call.command_failed(result)) {
                (true, _) => ToolStatus::Refused,
                (false, true) => ToolStatus::Failed,
                (false, false) => ToolStatus::of(None, is_error),
            };
            call.end(status, sanitize(result).into_owned(), 0);
        }
    }
}
