//! What `ostler bench tui` measures: the same code as the program, without a terminal.

use ostler_api::thread_event::{ThreadMessage, ThreadMessagePart};
use ostler_domain::id::ThreadId;
use serde_json::json;

use crate::app::App;
use crate::keymap::Keymap;
use crate::protocol::{ChatSetting, ChatUpdate, OpenedThread};
use crate::run::{Screen, ScreenKind};
use crate::text::theme::Theme;

/// Lines of each answer of a long transcript.
const LINES_PER_ANSWER: usize = 50;
const SIZE: (usize, usize) = (80, 24);
const FRAMES_PER_SECOND: usize = 60;

/// A chat with a transcript.
#[derive(Debug)]
pub struct MeasuredChat {
    app: App,
    screen: Screen,
}

impl MeasuredChat {
    /// Opens a chat whose thread has answers of so many lines in all.
    pub fn open(lines: usize) -> Result<Self, String> {
        let mut app = App::new(ChatSetting::default(), Keymap::load(None)?, None);
        let line = "- some **text** of an answer with `code`, long enough to be wrapped once at eighty columns\n";
        let messages = (0..lines / LINES_PER_ANSWER).map(|number| ThreadMessage {
            id: format!("m-{number}"),
            role: "assistant".to_owned(),
            content: vec![ThreadMessagePart::Text { text: line.repeat(LINES_PER_ANSWER) }],
            partial: false,
        });
        app.update(ChatUpdate::Opened(Box::new(OpenedThread {
            id: ThreadId::from_u128(1),
            title: None,
            messages: messages.collect(),
            mode: "build".to_owned(),
            model: "scripted".to_owned(),
        })));
        let screen = Screen::new(ScreenKind::Inline, Theme::Dark, SIZE);
        Ok(Self { app, screen })
    }

    /// Returns how many bytes the next frame has.
    pub fn frame(&mut self) -> usize {
        self.screen.frame(&self.app, 0).len()
    }

    /// Takes so many events of an answer that streams in, with a frame after each few of them,
    /// as many as are drawn in a second. Returns how many bytes the frames have.
    pub fn stream(&mut self, events: usize) -> Result<usize, String> {
        let (mut text, mut bytes) = (String::new(), 0);
        for number in 0..events {
            let delta = if number % 12 == 11 { "with `code`.\n\n" } else { "some **words** " };
            text.push_str(delta);
            let event = json!({
                "type": "message_update",
                "message": {"id": "m-stream", "role": "assistant",
                            "content": [{"type": "text", "text": text}]},
                "ext": {"at": 0, "delta": delta},
            });
            let event = serde_json::from_value(event).map_err(|error| error.to_string())?;
            self.app.update(ChatUpdate::Event(Box::new(event)));
            if number % (events / FRAMES_PER_SECOND).max(1) == 0 {
                bytes += self.frame();
            }
        }
        Ok(bytes)
    }

    /// Changes the size; the next frame writes everything again.
    pub fn resize(&mut self, columns: usize, rows: usize) {
        self.screen.resized((columns, rows));
    }
}
