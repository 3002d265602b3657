//! Events fold into cells.

use ostler_api::thread_event::{
    ThreadEvent, ThreadEventDetails, ThreadEventKind as Kind, ThreadMessage, ThreadMessagePart,
};
use serde_json::Value;

use super::{
    Activity, AgentRun, AnswerCell, AnswerState, Ask, AskKind, Cell, ToolCell, ToolStatus,
    Transcript,
};
use crate::text::markdown::MarkdownStream;
use crate::text::sanitize::{one_line, sanitize};

/// Tools whose calls are shown in another form.
pub(super) fn has_own_form(tool: &str) -> bool {
    matches!(tool, "task_write" | "task_check" | "ask_user" | "submit_plan")
}

impl Transcript {
    /// Takes an event. A stored event that was seen before changes nothing.
    pub(crate) fn apply(&mut self, event: ThreadEvent) {
        let ThreadEvent { kind, ext } = event;
        if let Some(id) = ext.id {
            if id <= self.seen {
                return;
            }
            self.seen = id;
        }
        match kind {
            Kind::MessageStart { message } | Kind::MessageUpdate { message } => {
                self.stream(message, &ext);
            }
            Kind::MessageEnd { message } => self.message(&message, false),
            Kind::ToolStart { .. } | Kind::ToolOutput { .. } | Kind::ToolEnd { .. } => {
                self.tool(kind, &ext);
            }
            Kind::ToolApprovalRequired { .. }
            | Kind::AskQuestion { .. }
            | Kind::PlanApprovalRequired { .. } => {
                self.ask(kind, ext);
            }
            Kind::AskClosed { ask_id } => self.asks.retain(|ask| ask.id != ask_id),
            Kind::SubagentStart { .. } | Kind::SubagentText { .. } | Kind::SubagentEnd { .. } => {
                self.subagent(kind, &ext);
            }
            Kind::AgentStart {} => {
                self.activity = Activity::Working;
                self.started_at = ext.at.as_millis();
            }
            Kind::AgentEnd { reason } => self.turn_ended(&reason),
            Kind::TurnInterrupted {} => {
                self.activity = Activity::Interrupted;
                self.notice("The last turn was interrupted. Press Enter to continue it.");
            }
            other => self.session(other),
        }
    }

    fn session(&mut self, kind: Kind) {
        match kind {
            Kind::ModeChanged { mode_id, .. } => {
                if self.mode != mode_id {
                    self.notice(format!("The mode is {} now.", one_line(&mode_id)));
                }
                self.mode = mode_id;
            }
            Kind::ModelChanged { model_id } => {
                self.notice(format!("The model is {} now.", one_line(&model_id)));
                self.model = model_id;
            }
            Kind::TaskUpdated { tasks } => {
                self.tasks = tasks.clone();
                if !tasks.is_empty() {
                    self.cells.push(Cell::Tasks { tasks, whole: false });
                }
            }
            Kind::UsageUpdate { usage } => self.usage = usage,
            Kind::FollowUpQueued { count } => self.queued = count,
            Kind::Error { error, .. } => {
                self.discard_draft();
                self.cells.push(Cell::Error(sanitize(&error).into_owned()));
            }
            Kind::PermissionRulesLoaded { notes, .. } => {
                notes.iter().for_each(|note| self.notice(one_line(note)));
            }
            Kind::WorkspaceError { error } => {
                self.notice(format!("The workspace cannot be used: {}", one_line(&error)));
            }
            Kind::ContextUpdated(context) => {
                context.problems.iter().for_each(|problem| self.notice(one_line(problem)));
                self.budget = context.budget;
                self.commands = context.commands;
            }
            Kind::ContextCompacted { messages, .. } => {
                self.notice(format!("{messages} old messages have left the prompt."));
            }
            Kind::OmObservationStart {} => self.observing = true,
            Kind::OmObservationEnd {} => self.observing = false,
            Kind::OmObservationFailed {} => {
                self.observing = false;
                self.notice("The memory could not observe the conversation; it will try again.");
            }
            _ => {}
        }
    }

    fn turn_ended(&mut self, reason: &str) {
        self.activity = Activity::Idle;
        self.asks.clear();
        self.discard_draft();
        for cell in &mut self.cells {
            if let Cell::Tool(tool) = cell {
                tool.abandon();
            }
        }
        match reason {
            "aborted" => self.notice("Stopped."),
            "error" => self.notice("The turn failed. /retry answers the message again."),
            _ => {}
        }
    }

    /// The text that streams in is not continued.
    fn discard_draft(&mut self) {
        if let Some(Cell::Answer(answer)) = self
            .cells
            .iter_mut()
            .rev()
            .find(|cell| !cell.is_final() && matches!(cell, Cell::Answer(_)))
        {
            answer.state = AnswerState::Discarded;
        }
    }

    fn stream(&mut self, message: ThreadMessage, ext: &ThreadEventDetails) {
        if message.role != "assistant" {
            return;
        }
        let whole = message.text();
        if let Some(answer) = self.streaming(&message.id) {
            let known = answer.text.len();
            match (&ext.delta, whole.get(known..)) {
                (Some(delta), _) if known + delta.len() == whole.len() => answer.add(delta),
                (_, Some(more)) if whole.starts_with(answer.text.as_str()) => answer.add(more),
                _ => {
                    answer.state = AnswerState::Discarded;
                    self.begin_answer(message.id, &whole);
                }
            }
            return;
        }
        if !whole.is_empty() {
            self.begin_answer(message.id, &whole);
        }
    }

    fn begin_answer(&mut self, message: String, text: &str) {
        let (stream, lines) = (MarkdownStream::default(), Vec::new());
        let mut answer = AnswerCell {
            message,
            text: String::new(),
            state: AnswerState::Streaming { stream, lines },
        };
        answer.add(text);
        self.cells.push(Cell::Answer(answer));
    }

    fn streaming(&mut self, message: &str) -> Option<&mut AnswerCell> {
        self.cells.iter_mut().rev().take(64).find_map(|cell| match cell {
            Cell::Answer(answer)
                if answer.message == message
                    && matches!(answer.state, AnswerState::Streaming { .. }) =>
            {
                Some(answer)
            }
            _ => None,
        })
    }

    /// Takes a message that is complete. `stored` ones have their tool calls too.
    pub(super) fn message(&mut self, message: &ThreadMessage, stored: bool) {
        match message.role.as_str() {
            "user" => self.user(message),
            "assistant" => self.whole_answer(message),
            _ => {}
        }
        if stored {
            self.stored_calls(message);
        }
    }

    /// The first text is what was typed; what follows was added to it.
    fn user(&mut self, message: &ThreadMessage) {
        let mut texts = message.content.iter().filter_map(|part| match part {
            ThreadMessagePart::Text { text } => Some(text),
            _ => None,
        });
        let text = texts.next().map(|text| sanitize(text).into_owned()).unwrap_or_default();
        let attachments = message.content.iter().skip(1).map(super::attachment).collect();
        self.cells.push(Cell::User { text, attachments });
        self.queued = self
            .queued
            .saturating_sub(usize::from(self.activity == Activity::Working && self.queued > 0));
    }

    fn whole_answer(&mut self, message: &ThreadMessage) {
        let whole = message.text();
        let state = if message.partial { AnswerState::Stopped } else { AnswerState::Complete };
        if let Some(answer) = self.streaming(&message.id) {
            if whole.starts_with(answer.text.as_str()) {
                answer.text = whole;
                answer.state = state;
                return;
            }
            answer.state = AnswerState::Discarded;
        }
        if !whole.trim().is_empty() {
            self.cells.push(Cell::Answer(AnswerCell {
                message: message.id.clone(),
                text: whole,
                state,
            }));
        }
    }

    fn find_tool(&mut self, id: &str) -> Option<&mut ToolCell> {
        self.cells.iter_mut().rev().find_map(|cell| match cell {
            Cell::Tool(tool) => tool.find(id),
            _ => None,
        })
    }

    fn tool(&mut self, kind: Kind, ext: &ThreadEventDetails) {
        let at = ext.at.as_millis();
        match kind {
            Kind::ToolStart { tool_call_id, tool_name, args } => {
                if has_own_form(&tool_name) && ext.path.is_empty() {
                    return;
                }
                let call = ToolCell::new(call_id(ext, &tool_call_id), &tool_name, args, at);
                self.add_call(call, ext);
            }
            Kind::ToolOutput { tool_call_id, text } => {
                if let Some(call) = self.find_tool(&call_id(ext, &tool_call_id)) {
                    call.add_output(&sanitize(&text));
                }
            }
            Kind::ToolEnd { tool_call_id, result, is_error } => {
                self.tool_ended(&tool_call_id, &result, is_error, ext);
            }
            _ => {}
        }
    }

    fn add_call(&mut self, call: ToolCell, ext: &ThreadEventDetails) {
        let parent = (!ext.path.is_empty()).then(|| call_id(ext, &ext.path.join("/")));
        match parent.and_then(|parent| self.find_tool(&parent)) {
            Some(parent) => parent.agent.get_or_insert_default().calls.push(call),
            None => self.cells.push(Cell::Tool(call)),
        }
    }

    fn tool_ended(&mut self, id: &str, result: &str, is_error: bool, ext: &ThreadEventDetails) {
        let (key, status) = (call_id(ext, id), ToolStatus::of(ext.status.as_deref(), is_error));
        let tool = ext.tool_name.as_deref().unwrap_or_default();
        if has_own_form(tool) && ext.path.is_empty() {
            self.own_form_ended(tool, result, is_error);
            return;
        }
        let (result, at) = (sanitize(result).into_owned(), ext.at.as_millis());
        if self.find_tool(&key).is_none() {
            // A call that was refused has no start.
            let args = self.pending_args.remove(&key).unwrap_or(Value::Null);
            self.add_call(ToolCell::new(key.clone(), tool, args, at), ext);
        }
        if let Some(call) = self.find_tool(&key) {
            call.why = ext.why.as_deref().map(one_line);
            let status = match call.command_failed(&result) {
                true => ToolStatus::Failed,
                false => status,
            };
            call.end(status, result, at);
        }
    }

    /// A question or a plan has its answer.
    pub(super) fn own_form_ended(&mut self, tool: &str, result: &str, is_error: bool) {
        let result = sanitize(result).into_owned();
        match (tool, self.asked.take()) {
            ("ask_user", Some(AskKind::Question { question, .. })) => {
                self.cells.push(Cell::Question { question, answer: result });
            }
            ("submit_plan", Some(AskKind::Plan { title, plan })) => {
                self.cells.push(Cell::Plan { title, plan, verdict: result });
            }
            _ if is_error => self.notice(format!("{tool}: {}", one_line(&result))),
            _ => {}
        }
    }

    fn ask(&mut self, kind: Kind, ext: ThreadEventDetails) {
        let (id, kind) = match kind {
            Kind::ToolApprovalRequired { tool_call_id, tool_name, args } => {
                self.pending_args.insert(call_id(&ext, &tool_call_id), args.clone());
                let why = one_line(&ext.why.unwrap_or_default());
                let risk = ext.risk.unwrap_or_default();
                (
                    tool_call_id,
                    AskKind::Approval {
                        tool: one_line(&tool_name),
                        args,
                        why,
                        risk,
                        always: ext.always.map(Box::new),
                    },
                )
            }
            Kind::AskQuestion { question_id, question, options } => {
                let options =
                    options.unwrap_or_default().iter().map(|option| one_line(option)).collect();
                (
                    question_id,
                    AskKind::Question { question: sanitize(&question).into_owned(), options },
                )
            }
            Kind::PlanApprovalRequired { plan_id, title, plan } => {
                let title = title.as_deref().map(one_line);
                (plan_id, AskKind::Plan { title, plan: sanitize(&plan).into_owned() })
            }
            _ => return,
        };
        if !matches!(kind, AskKind::Approval { .. }) {
            self.asked = Some(kind.clone());
        }
        self.activity = Activity::Working;
        self.asks.retain(|ask| ask.id != id);
        self.asks.push(Ask { id, kind, path: ext.path });
    }

    fn subagent(&mut self, kind: Kind, ext: &ThreadEventDetails) {
        let id = call_id(ext, &ext.path.join("/"));
        let Some(call) = self.find_tool(&id) else { return };
        let agent = call.agent.get_or_insert_default();
        match kind {
            Kind::SubagentStart { task, .. } => {
                *agent = AgentRun { task: one_line(&task), ..AgentRun::default() };
            }
            Kind::SubagentText { text } => agent.text.push_str(&sanitize(&text)),
            Kind::SubagentEnd { duration_ms, .. } => agent.duration_ms = Some(duration_ms),
            _ => {}
        }
    }
}

impl AnswerCell {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        if let AnswerState::Streaming { stream, lines } = &mut self.state {
            lines.extend(stream.push(text));
        }
    }
}

/// Returns the id of a call that is unique in the transcript: models repeat theirs.
pub(super) fn call_id(ext: &ThreadEventDetails, call: &str) -> String {
    match ext.turn_id {
        Some(turn) => format!("{turn}/{call}"),
        None => call.to_owned(),
    }
}
