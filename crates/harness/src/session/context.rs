//! The context of a turn: what the workspace adds to the prompt, and what leaves it.

use std::sync::Arc;

use ostler_domain::tool::ToolName;
use ostler_engine::history::{Content, Item};
use ostler_engine::tokens;
use ostler_workspace::workspace::Workspace;

use super::{Assembled, Core, OpenThread, QueuedMessage};
use crate::context::{ContextBudget, ContextReport, WorkspaceContext};
use crate::event::ContextEvent;

impl Core {
    /// Reads the files for agents, adds to a message what it mentions, and reports what is
    /// new.
    pub(super) async fn add_context(
        &self,
        thread: &mut OpenThread,
        workspace: Option<Arc<Workspace>>,
        assembled: &Assembled,
        message: Option<&mut QueuedMessage>,
    ) {
        let Some(workspace) = workspace else { return };
        let typed = message.as_ref().filter(|message| message.is_typed);
        let text = typed.and_then(|message| match message.content.first() {
            Some(Content::Text { text }) => Some(text.clone()),
            _ => None,
        });
        let read = WorkspaceContext::read(workspace, &thread.context, text).await;
        let Some(read) = read else { return };
        if thread.context.update(read, self.config.workspace_trust, message) {
            let report = context_report(thread, assembled);
            self.publish(Some(thread.info.id), ContextEvent::ContextUpdated(report));
        }
    }

    /// Moves the messages that are shown to a turn, and reports old ones that have left the
    /// prompt.
    pub(super) fn take_window(&self, thread: &mut OpenThread) -> Vec<Item> {
        let before = thread.window.first_seq();
        let items = thread.window.take();
        let first_message = thread.window.first_seq();
        if first_message > before {
            let messages = first_message - before;
            let compacted = ContextEvent::ContextCompacted { messages, first_message };
            self.publish(Some(thread.info.id), compacted);
        }
        items
    }
}

/// Returns what the next request of a thread consists of.
pub(crate) fn context_report(thread: &OpenThread, assembled: &Assembled) -> ContextReport {
    let tools: Vec<String> = assembled.own_tools.iter().map(ToolName::to_string).collect();
    let status = thread.window.memory.as_ref().map(|memory| memory.status(0));
    thread.context.report(ContextBudget {
        agent: tokens::of_text(&assembled.system),
        tools: tokens::of_request("", &[], &assembled.tools, &tools),
        messages: thread.window.tokens(),
        message_threshold: status.map(|status| status.windows.active.messages.threshold),
        ..ContextBudget::default()
    })
}
