//! The state of the UI: what is shown, what is being written, what is chosen. Keys and
//! updates change it and return effects; nothing here touches the terminal.

mod activity;
mod card;
mod input;
mod linear;
mod live;
mod progress;
mod slash;
mod update;

use std::path::PathBuf;

use crate::cells::Transcript;
use crate::composer::Composer;
use crate::composer::history::History;
use crate::keymap::Keymap;
use crate::pickers::Picker;
use crate::protocol::{ChatFigures, ChatRequest, ChatSetting};
use crate::render::Detail;

use self::card::Card;
pub(crate) use self::progress::{Progress, last_rows};

/// What the terminal or the agent is to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    Request(ChatRequest),
    /// Write the text in an external editor.
    OpenEditor,
    /// Write everything again: the size, the detail or the thread is another one.
    Redraw,
    ToggleFullScreen,
    /// Scroll by pages; up is negative.
    Scroll(i32),
    Copy(String),
    /// Add the image in this file to the message.
    Attach(String),
    Quit,
}

/// The state of the UI.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) transcript: Transcript,
    pub(crate) composer: Composer,
    pub(crate) setting: ChatSetting,
    pub(crate) figures: ChatFigures,
    pub(crate) detail: Detail,
    keymap: Keymap,
    history: History,
    files: Vec<String>,
    picker: Option<Picker>,
    /// The completion that is chosen; none was if the list is new.
    completion: usize,
    card: Option<Card>,
    /// What was being written before the card took the composer.
    stash: Option<String>,
    /// The text of the last message, and what was written for it.
    sent: Option<(String, String)>,
    /// Messages that wait for the end of the turn, as far as they were written here.
    follow_ups: Vec<String>,
    show_help: bool,
    /// A hint below the composer, until the next key.
    hint: Option<String>,
    /// When Ctrl-C was pressed on an empty composer, in milliseconds.
    quit_pressed: Option<u64>,
}

impl App {
    pub(crate) fn new(setting: ChatSetting, keymap: Keymap, history: Option<PathBuf>) -> Self {
        let mut transcript = Transcript::default();
        setting.greeting.iter().for_each(|line| transcript.notice(line.clone()));
        Self {
            transcript,
            composer: Composer::default(),
            setting,
            figures: ChatFigures::default(),
            detail: Detail::Folded,
            keymap,
            history: History::open(history),
            files: Vec::new(),
            picker: None,
            completion: 0,
            card: None,
            stash: None,
            sent: None,
            follow_ups: Vec::new(),
            show_help: false,
            hint: None,
            quit_pressed: None,
        }
    }

    /// Returns whether a list is open, into which text is typed.
    pub(crate) const fn has_picker(&self) -> bool {
        self.picker.is_some()
    }

    /// Returns what is stored as the draft.
    pub(crate) fn draft(&self) -> String {
        match &self.stash {
            Some(stash) => stash.clone(),
            None => self.composer.whole_text(),
        }
    }
}
