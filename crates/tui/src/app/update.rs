//! Updates of the agent.

use ostler_api::thread_event::ThreadInfo;

use super::{App, Effect};
use crate::cells::{Activity, Transcript};
use crate::pickers::{Choice, Entry};
use crate::protocol::{ChatUpdate, OpenedThread};
use crate::text::sanitize::one_line;

impl App {
    /// Takes an update. Returns whether everything is to be written again.
    pub(crate) fn update(&mut self, update: ChatUpdate) -> Option<Effect> {
        let mut effect = None;
        match update {
            ChatUpdate::Event(event) => {
                self.transcript.apply(*event);
                self.trim_follow_ups();
            }
            ChatUpdate::Opened(opened) => effect = self.opened(*opened),
            ChatUpdate::Figures(figures) => {
                self.transcript.queued = figures.queued;
                self.figures = figures;
                self.trim_follow_ups();
            }
            ChatUpdate::Threads(threads) => self.show_threads(&threads),
            ChatUpdate::Files(files) => self.files = files,
            ChatUpdate::Sandbox(text) => self.setting.sandbox = Some(one_line(&text)),
            ChatUpdate::Refused { why, text } => self.refused(&why, text),
            ChatUpdate::Notice(text) => self.transcript.notice(one_line(&text)),
        }
        self.update_card();
        effect
    }

    /// A text that was not taken comes back into the composer.
    fn refused(&mut self, why: &str, text: Option<String>) {
        self.transcript.notice(one_line(why));
        if let Some(text) = text {
            self.follow_ups.retain(|waiting| *waiting != text);
            if self.composer.is_empty() {
                let sent = self.sent.take().filter(|(sent, _)| *sent == text);
                self.composer.set(&sent.map_or(text, |(_, written)| written));
            }
        }
    }

    fn opened(&mut self, opened: OpenedThread) -> Option<Effect> {
        let is_first = self.transcript.mode.is_empty();
        let commands = std::mem::take(&mut self.transcript.commands);
        let mut transcript = Transcript::default();
        transcript.mode = opened.mode;
        transcript.model = opened.model;
        transcript.commands = commands;
        if is_first {
            transcript.cells = std::mem::take(&mut self.transcript.cells);
        }
        transcript.load(&opened.messages);
        if !opened.messages.is_empty() {
            let title =
                opened.title.as_deref().map(one_line).unwrap_or_else(|| opened.id.to_string());
            transcript.notice(format!("You are in {title}."));
        }
        self.figures.title = opened.title;
        self.transcript = transcript;
        self.follow_ups.clear();
        (!is_first).then_some(Effect::Redraw)
    }

    /// Messages that wait are known by their number; the first one is sent first.
    fn trim_follow_ups(&mut self) {
        let waiting = self.transcript.queued;
        if self.transcript.activity != Activity::Working && waiting == 0 {
            self.follow_ups.clear();
        }
        if self.follow_ups.len() > waiting.max(1) {
            self.follow_ups.drain(..self.follow_ups.len() - waiting.max(1));
        }
    }

    fn show_threads(&mut self, threads: &[ThreadInfo]) {
        let entries = threads.iter().map(|thread| {
            let count = thread.message_count;
            Entry {
                value: thread.id.to_string(),
                label: thread.title.as_deref().map_or_else(|| "(no title)".to_owned(), one_line),
                detail: format!("{count} messages"),
            }
        });
        let entries = entries.collect();
        if let Some(picker) = self.picker.as_mut().filter(|picker| picker.choice == Choice::Thread)
        {
            picker.set_entries(entries);
        }
    }
}
