//! Keys and pastes.

use std::path::Path;

use crossterm::event::{KeyCode, KeyModifiers};

use super::{App, Effect};
use crate::cells::Activity;
use crate::composer::completion::{Completions, completions};
use crate::composer::{Edit, history};
use crate::keymap::{Action, KeyPress};
use crate::pickers::{Choice, Entry, Picker};
use crate::protocol::{ChatRequest, ComposedMessage, ImageFile};
use crate::render::Detail;

/// Within this time a second Ctrl-C quits.
const QUIT_MS: u64 = 2000;

impl App {
    /// Handles a key at a time in milliseconds.
    pub(crate) fn key(&mut self, key: KeyPress, now: u64) -> Vec<Effect> {
        self.hint = None;
        let quit_pressed = self.quit_pressed.take();
        if self.picker.is_some() {
            return self.picker_key(key);
        }
        if std::mem::take(&mut self.show_help) && key.code == KeyCode::Esc {
            return Vec::new();
        }
        if let Some(effects) = self.card_key(key, now) {
            return effects;
        }
        if let Some(effects) = self.completion_key(key) {
            return effects;
        }
        match self.keymap.action(key) {
            Some(Action::Help) if !self.composer.is_empty() => self.typed(key),
            Some(Action::ClearOrQuit) => self.clear_or_quit(quit_pressed, now),
            Some(action) => self.act(action),
            None => self.typed(key),
        }
    }

    /// Takes text that was pasted.
    pub(crate) fn pasted(&mut self, text: &str) {
        match &mut self.picker {
            Some(picker) => picker.type_text(&crate::text::sanitize::one_line(text)),
            None => self.composer.paste(text),
        }
    }

    fn typed(&mut self, key: KeyPress) -> Vec<Effect> {
        if let KeyCode::Char(c) = key.code
            && (key.modifiers - KeyModifiers::SHIFT).is_empty()
        {
            self.composer.insert(c.encode_utf8(&mut [0; 4]));
            self.completion = 0;
        }
        Vec::new()
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Submit => return self.submit(),
            Action::Newline => self.composer.insert("\n"),
            Action::Steer => return self.steer(),
            Action::Interrupt => return self.interrupt(),
            Action::QuitIfEmpty if self.composer.is_empty() => return vec![Effect::Quit],
            Action::QuitIfEmpty => drop(self.composer.edit(Edit::DeleteForward)),
            Action::Older => self.older(),
            Action::Newer => self.newer(),
            Action::SearchHistory => self.pick_history(),
            Action::Complete => self.toggle_focus(),
            Action::CycleMode => return self.cycle_mode(),
            Action::PickMode => self.pick_mode(),
            Action::PickModel => self.pick_model(),
            Action::PickThread => return self.pick_thread(),
            Action::Expand => {
                self.detail =
                    if self.detail == Detail::Folded { Detail::Expanded } else { Detail::Folded };
                return vec![Effect::Redraw];
            }
            Action::FullScreen => return vec![Effect::ToggleFullScreen],
            Action::Editor => return vec![Effect::OpenEditor],
            Action::UnfoldPaste => self.composer.unfold_paste(),
            Action::Redraw => return vec![Effect::Redraw],
            Action::PageUp => return vec![Effect::Scroll(-1)],
            Action::PageDown => return vec![Effect::Scroll(1)],
            Action::Help => self.show_help = true,
            Action::Edit(edit) => drop(self.composer.edit(edit)),
            _ => {}
        }
        Vec::new()
    }

    fn interrupt(&mut self) -> Vec<Effect> {
        match self.transcript.activity {
            Activity::Working => vec![Effect::Request(ChatRequest::Abort)],
            _ => Vec::new(),
        }
    }

    /// What is cleared can be had again from the history.
    fn clear_or_quit(&mut self, pressed: Option<u64>, now: u64) -> Vec<Effect> {
        if !self.composer.is_empty() {
            let text = self.composer.take();
            self.history.add(&text);
        } else if pressed.is_some_and(|pressed| now < pressed + QUIT_MS) {
            return vec![Effect::Quit];
        } else {
            self.quit_pressed = Some(now);
            self.hint = Some("Press Ctrl-C again to quit. The thread is kept.".into());
        }
        Vec::new()
    }

    fn submit(&mut self) -> Vec<Effect> {
        if self.composer.whole_text().trim().is_empty() {
            let waits = self.transcript.activity == Activity::Interrupted
                || (self.transcript.activity == Activity::Idle && self.transcript.queued > 0);
            return if waits { vec![Effect::Request(ChatRequest::Resume)] } else { Vec::new() };
        }
        let written = self.composer.whole_text();
        self.history.add(&written);
        let message = self.take_message(written.clone());
        if message.images.is_empty()
            && let Some(effects) = self.slash_command(&written)
        {
            return effects;
        }
        if self.transcript.activity == Activity::Working {
            self.follow_ups.push(message.text.clone());
        }
        vec![Effect::Request(ChatRequest::Send(message))]
    }

    fn steer(&mut self) -> Vec<Effect> {
        if self.composer.whole_text().trim().is_empty() {
            return Vec::new();
        }
        let written = self.composer.whole_text();
        self.history.add(&written);
        self.follow_ups.clear();
        vec![Effect::Request(ChatRequest::Steer(self.take_message(written)))]
    }

    /// Takes the message, and keeps what was written until it is taken over there.
    pub(super) fn take_message(&mut self, written: String) -> ComposedMessage {
        let message = self.composer.take_message();
        self.sent = Some((message.text.clone(), written));
        message
    }

    /// Adds an image to the message.
    pub(crate) fn attach(&mut self, image: Result<ImageFile, String>) {
        match image {
            Ok(image) => self.composer.attach(image),
            Err(why) => self.hint = Some(crate::text::sanitize::one_line(&why)),
        }
    }

    fn older(&mut self) {
        if !self.composer.edit(Edit::Up)
            && let Some(text) = self.history.older(&self.composer.whole_text())
        {
            self.composer.set(&text);
        }
    }

    fn newer(&mut self) {
        if !self.composer.edit(Edit::Down)
            && let Some(text) = self.history.newer()
        {
            self.composer.set(&text);
        }
    }

    /// Returns the completions of what is being written.
    pub(super) fn completions(&self) -> Option<Completions> {
        let own = super::slash::COMMANDS.iter().map(|command| (command.name, command.help));
        let of_workspace = self
            .transcript
            .commands
            .iter()
            .map(|one| (one.name.as_str(), one.description.as_str()));
        completions(self.composer.before_cursor(), own.chain(of_workspace), &self.files)
    }

    pub(super) fn chosen_completion(&self, count: usize) -> usize {
        self.completion.min(count.saturating_sub(1))
    }

    fn completion_key(&mut self, key: KeyPress) -> Option<Vec<Effect>> {
        let found = self.completions()?;
        let chosen = self.chosen_completion(found.all.len());
        match (self.keymap.action(key)?, key.code) {
            (Action::Complete, _) => {
                self.composer.complete(found.from, &found.all[chosen].text);
                self.completion = 0;
            }
            (_, KeyCode::Up) => self.completion = chosen.saturating_sub(1),
            (_, KeyCode::Down) => self.completion = (chosen + 1).min(found.all.len() - 1),
            _ => return None,
        }
        Some(Vec::new())
    }

    fn picker_key(&mut self, key: KeyPress) -> Vec<Effect> {
        let Some(picker) = &mut self.picker else { return Vec::new() };
        let is_searched = picker.choice == Choice::Thread;
        match (key.code, key.modifiers) {
            (KeyCode::Up, _) => picker.up(),
            (KeyCode::Down, _) => picker.down(),
            (KeyCode::Esc, _) | (KeyCode::Char('c'), KeyModifiers::CONTROL) => self.picker = None,
            (KeyCode::Enter, _) => return self.choose_entry(),
            (KeyCode::Backspace, _) => picker.delete(),
            (KeyCode::Char(c), KeyModifiers::NONE) => picker.type_text(c.encode_utf8(&mut [0; 4])),
            _ => return Vec::new(),
        }
        match &self.picker {
            Some(picker) if is_searched && !matches!(key.code, KeyCode::Up | KeyCode::Down) => {
                vec![Effect::Request(ChatRequest::ListThreads {
                    search: picker.filter().to_owned(),
                })]
            }
            _ => Vec::new(),
        }
    }

    fn choose_entry(&mut self) -> Vec<Effect> {
        let Some(picker) = self.picker.take() else { return Vec::new() };
        let Some(entry) = picker.chosen() else { return Vec::new() };
        let id = entry.value.clone();
        match picker.choice {
            Choice::Mode => vec![Effect::Request(ChatRequest::SetMode { id })],
            Choice::Model => vec![Effect::Request(ChatRequest::SetModel { id })],
            Choice::Thread => match id.parse() {
                Ok(id) => vec![Effect::Request(ChatRequest::OpenThread { id })],
                Err(_) => Vec::new(),
            },
            Choice::History => {
                self.composer.set(&id);
                Vec::new()
            }
        }
    }

    fn cycle_mode(&mut self) -> Vec<Effect> {
        let modes = &self.setting.modes;
        let at = modes.iter().position(|mode| mode.id == self.transcript.mode).unwrap_or(0);
        match modes.get((at + 1) % modes.len().max(1)) {
            Some(mode) => vec![Effect::Request(ChatRequest::SetMode { id: mode.id.clone() })],
            None => Vec::new(),
        }
    }

    pub(super) fn pick_mode(&mut self) {
        let entries = self.setting.modes.iter().map(|mode| Entry {
            value: mode.id.clone(),
            label: mode.id.clone(),
            detail: if mode.name == mode.id { String::new() } else { mode.name.clone() },
        });
        self.picker = Some(Picker::new(Choice::Mode, "Mode", entries.collect()));
    }

    pub(super) fn pick_model(&mut self) {
        let entries = self.setting.models.iter().map(|model| Entry {
            value: model.id.clone(),
            label: model.id.clone(),
            detail: model.detail.clone(),
        });
        self.picker = Some(Picker::new(Choice::Model, "Model", entries.collect()));
    }

    pub(super) fn pick_thread(&mut self) -> Vec<Effect> {
        self.picker = Some(Picker::new(Choice::Thread, "Thread", Vec::new()));
        vec![Effect::Request(ChatRequest::ListThreads { search: String::new() })]
    }

    fn pick_history(&mut self) {
        let entries = self.history.entries().iter().rev().map(|text| Entry {
            value: text.clone(),
            label: crate::text::sanitize::one_line(text),
            detail: String::new(),
        });
        self.picker = Some(Picker::new(Choice::History, "Sent before", entries.collect()));
    }

    /// Reads the draft of a program that did not end well, with the images in it.
    pub(crate) fn restore_draft(&mut self, file: &Path, images: Vec<ImageFile>) {
        self.composer.know_images(images);
        if let Some(text) = history::read_draft(file) {
            self.composer.set(&text);
            self.hint = Some("This is what you were writing the last time.".into());
        }
    }
}
