//! Commands that begin with a slash. Others are sent: the workspace may have them.

use super::{App, Effect};
use crate::protocol::ChatRequest;

/// A command.
pub(super) struct SlashCommand {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
}

const fn command(name: &'static str, help: &'static str) -> SlashCommand {
    SlashCommand { name, help }
}

/// All commands of the program itself.
pub(super) const COMMANDS: [SlashCommand; 18] = [
    command("help", "commands and keys"),
    command("model", "choose a model, or name one"),
    command("mode", "choose a mode, or name one"),
    command("threads", "choose a thread"),
    command("new", "begin another thread"),
    command("fork", "continue in a copy of this thread"),
    command("rename", "give this thread a title"),
    command("retry", "answer the last message again"),
    command("resume", "continue an interrupted turn or the queue"),
    command("clear-queue", "discard the messages that wait"),
    command("image", "add an image to the message, by its path"),
    command("tasks", "the task list"),
    command("context", "what the prompt consists of, and what it costs"),
    command("yolo", "approve everything, or ask again"),
    command("copy", "copy the last answer"),
    command("expand", "show calls and texts whole, or fold them"),
    command("fullscreen", "full screen, or inline again"),
    command("quit", "quit; the thread is kept"),
];

impl App {
    /// Carries a command of the program out. `None` if the text is none.
    pub(super) fn slash_command(&mut self, text: &str) -> Option<Vec<Effect>> {
        let (name, argument) = text
            .strip_prefix('/')?
            .trim_end()
            .split_once(' ')
            .unwrap_or((text[1..].trim_end(), ""));
        let argument = argument.trim();
        let request = |request| Some(vec![Effect::Request(request)]);
        match name {
            "help" => self.print_help(),
            "model" if argument.is_empty() => self.pick_model(),
            "model" => return request(ChatRequest::SetModel { id: argument.to_owned() }),
            "mode" if argument.is_empty() => self.pick_mode(),
            "mode" => return request(ChatRequest::SetMode { id: argument.to_owned() }),
            "threads" => return Some(self.pick_thread()),
            "new" => return request(ChatRequest::NewThread),
            "fork" => return request(ChatRequest::Fork),
            "rename" if argument.is_empty() => {
                self.hint = Some("Write the title behind /rename.".into());
            }
            "rename" => return request(ChatRequest::Rename { title: argument.to_owned() }),
            "retry" => return request(ChatRequest::Retry),
            "resume" => return request(ChatRequest::Resume),
            "clear-queue" => {
                self.follow_ups.clear();
                return request(ChatRequest::ClearQueue);
            }
            "image" if argument.is_empty() => {
                self.hint = Some("Write the path behind /image, or paste it.".into());
            }
            "image" => return Some(vec![Effect::Attach(argument.to_owned())]),
            "tasks" => self.print_tasks(),
            "context" => self.print_context(),
            "yolo" => return request(ChatRequest::SetYolo { on: !self.figures.yolo }),
            "copy" => return Some(self.copy_last_answer()),
            "expand" => return Some(vec![self.toggle_detail()]),
            "fullscreen" => return Some(vec![Effect::ToggleFullScreen]),
            "quit" | "exit" => return Some(vec![Effect::Quit]),
            _ => return None,
        }
        Some(Vec::new())
    }

    fn print_help(&mut self) {
        for command in &COMMANDS {
            self.transcript.notice(format!("/{}: {}", command.name, command.help));
        }
        for (keys, help) in self.keymap.table() {
            if !keys.is_empty() {
                self.transcript.notice(format!("{keys}: {help}"));
            }
        }
    }

    fn print_tasks(&mut self) {
        if self.transcript.tasks.is_empty() {
            self.transcript.notice("There are no tasks.");
        } else {
            let tasks = self.transcript.tasks.clone();
            self.transcript.cells.push(crate::cells::Cell::Tasks { tasks, whole: true });
        }
    }

    fn print_context(&mut self) {
        let (usage, budget) = (self.transcript.usage, self.transcript.budget);
        let figures = &self.figures;
        let mut lines = vec![
            format!(
                "Tokens of the thread: {} in, {} out.",
                usage.prompt_tokens, usage.completion_tokens
            ),
            format!(
                "Credits spent: {}{}.",
                figures.credits_spent,
                self.setting.credit_limit.map_or(String::new(), |limit| format!(" of {limit}"))
            ),
        ];
        if budget.total > 0 {
            lines.push(format!(
                "The next request has about {} tokens, {} of them messages.",
                budget.total, budget.messages
            ));
        }
        if let Some(threshold) = budget.message_threshold {
            lines.push(format!("The memory observes old messages at {threshold} tokens."));
        }
        if let Some(sandbox) = &self.setting.sandbox {
            lines.push(format!("Commands: {sandbox}."));
        }
        lines.into_iter().for_each(|line| self.transcript.notice(line));
    }

    fn toggle_detail(&mut self) -> Effect {
        use crate::render::Detail;
        self.detail = if self.detail == Detail::Folded { Detail::Expanded } else { Detail::Folded };
        Effect::Redraw
    }

    fn copy_last_answer(&mut self) -> Vec<Effect> {
        let last = self.transcript.cells.iter().rev().find_map(|cell| match cell {
            crate::cells::Cell::Answer(answer) => Some(answer.text.clone()),
            _ => None,
        });
        match last {
            Some(text) => {
                self.hint = Some("Copied.".into());
                vec![Effect::Copy(text)]
            }
            None => {
                self.hint = Some("There is no answer yet.".into());
                Vec::new()
            }
        }
    }
}
