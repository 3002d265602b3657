//! The loop of the inbox: keys, updates and frames on the whole screen.

use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyEventKind};
use futures_util::StreamExt as _;
use ostler_domain::time::Timestamp;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::terminal::Terminal;
use super::{ChatError, DRAFT_DELAY, FRAME, lines, now, sleep_until};
use crate::inbox::protocol::{InboxRequest, InboxSetting, InboxUpdate};
use crate::inbox::{Inbox, InboxEffect};
use crate::keymap::KeyFile;
use crate::sinks::full;
#[cfg(test)]
use crate::sinks::linear;
use crate::text::line::Line;
use crate::text::theme::Theme;
#[cfg(test)]
use crate::text::wrap::wrap_all;

/// How the inbox looks, and its files.
#[derive(Debug)]
pub struct InboxOptions {
    pub setting: InboxSetting,
    /// Append lines and read commands line by line.
    pub is_linear: bool,
    pub theme: Theme,
    /// The file with keys of the user.
    pub keys: Option<PathBuf>,
    /// The folder with what is being written.
    pub drafts: Option<PathBuf>,
    /// Formats a time of day.
    pub clock: fn(Timestamp) -> String,
}

/// The client's side of the inbox.
#[derive(Debug)]
pub struct InboxChannels {
    pub requests: mpsc::UnboundedSender<InboxRequest>,
    pub updates: mpsc::Receiver<InboxUpdate>,
}

/// Shows the inbox until the person quits or the client is gone.
pub async fn run_inbox(options: InboxOptions, channels: InboxChannels) -> Result<(), ChatError> {
    let keys = KeyFile::load(options.keys.as_deref()).map_err(ChatError::Keys)?;
    let inbox = Inbox::new(options.setting, &keys, options.drafts, options.clock);
    let inbox = inbox.map_err(ChatError::Keys)?;
    if options.is_linear {
        return run_lines(inbox, channels).await;
    }
    let mut terminal = Terminal::enter()?;
    terminal.write(full::ENTER)?;
    let size = Terminal::size()?;
    let mut running =
        RunningInbox { inbox, terminal, theme: options.theme, size, channels, draft_due: None };
    let result = running.follow().await;
    running.inbox.store_drafts();
    running.terminal.write(full::LEAVE)?;
    result
}

struct RunningInbox {
    inbox: Inbox,
    terminal: Terminal,
    theme: Theme,
    size: (usize, usize),
    channels: InboxChannels,
    draft_due: Option<Instant>,
}

impl RunningInbox {
    async fn follow(&mut self) -> Result<(), ChatError> {
        let mut input = EventStream::new();
        let mut last_frame = Instant::now() - FRAME;
        let mut dirty = true;
        loop {
            if dirty && last_frame.elapsed() >= FRAME {
                self.draw()?;
                last_frame = Instant::now();
                dirty = false;
            }
            let next = self.next_timer(dirty, last_frame);
            let effects = tokio::select! {
                biased;
                event = input.next() => match event {
                    None => return Ok(()),
                    Some(event) => {
                        dirty = true;
                        self.input(event?)
                    }
                },
                update = self.channels.updates.recv() => {
                    let Some(update) = update else { return Ok(()) };
                    dirty = true;
                    self.inbox.update(update)
                }
                () = sleep_until(next), if next.is_some() => {
                    dirty = true;
                    if self.draft_due.is_some_and(|due| due <= Instant::now()) {
                        self.draft_due = None;
                        self.inbox.store_drafts();
                    }
                    Vec::new()
                }
            };
            for effect in effects {
                match effect {
                    InboxEffect::Quit => return Ok(()),
                    request @ InboxEffect::Request(_) => send(request, &self.channels),
                }
            }
            if self.inbox.has_new_drafts() && self.draft_due.is_none() {
                self.draft_due = Some(Instant::now() + DRAFT_DELAY);
            }
        }
    }

    fn draw(&mut self) -> Result<(), ChatError> {
        let (mut out, time) = (String::new(), now());
        let screen = self.inbox.screen(self.size, time);
        full::draw(&[], &screen, self.size, self.theme, &mut out);
        self.terminal.write(&out)?;
        self.inbox.drawn(time);
        // In another width, other conversations are seen.
        self.inbox.request_shown().into_iter().for_each(|effect| send(effect, &self.channels));
        Ok(())
    }

    fn next_timer(&self, dirty: bool, last_frame: Instant) -> Option<Instant> {
        let frame = dirty.then(|| last_frame + FRAME);
        let time = now();
        let change = self.inbox.next_change(time);
        let change = change.map(|at| Instant::now() + Duration::from_millis(at - time));
        [frame, change, self.draft_due].into_iter().flatten().min()
    }

    fn input(&mut self, event: Event) -> Vec<InboxEffect> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.inbox.key(key.into(), now())
            }
            Event::Paste(text) => {
                self.inbox.pasted(&text);
                Vec::new()
            }
            Event::Resize(..) => {
                self.size = Terminal::size().unwrap_or(self.size);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

/// Prints the list and what is new, and reads a command when nothing is waited for.
async fn run_lines(mut inbox: Inbox, mut channels: InboxChannels) -> Result<(), ChatError> {
    let mut input = lines::read_lines();
    let mut lists = true;
    inbox.begin_linear();
    loop {
        if inbox.has_list() && std::mem::take(&mut lists) {
            lines::print(&inbox.list_text())?;
        }
        lists |= !inbox.has_list();
        lines::print(&inbox.news(now()))?;
        let hint: Vec<Line> = inbox.take_hint().into_iter().collect();
        lines::print(&hint)?;
        if let Some(why) = inbox.unreadable_text().filter(|_| !inbox.has_list()) {
            return Err(ChatError::Unreadable(why));
        }
        let is_ready = inbox.has_list() && !inbox.has_pending() && !inbox.is_reading();
        tokio::select! {
            biased;
            update = channels.updates.recv() => {
                let Some(update) = update else { return Ok(()) };
                for effect in inbox.update(update) {
                    send(effect, &channels);
                }
            }
            line = input.recv(), if is_ready => {
                let Some(line) = line else { return result_of(&inbox) };
                lists |= matches!(line.trim(), "" | "l");
                for effect in inbox.command(&line) {
                    if effect == InboxEffect::Quit {
                        return result_of(&inbox);
                    }
                    send(effect, &channels);
                }
            }
        }
    }
}

/// Scripts learn from the exit status that a command was not carried out.
const fn result_of(inbox: &Inbox) -> Result<(), ChatError> {
    match inbox.refused_commands() {
        0 => Ok(()),
        count => Err(ChatError::FailedCommands { count }),
    }
}

fn send(effect: InboxEffect, channels: &InboxChannels) {
    if let InboxEffect::Request(request) = effect {
        // The client is gone; the closed updates end the loop.
        let _ = channels.requests.send(request);
    }
}

/// Returns a frame of the inbox as it is written to the terminal.
#[cfg(test)]
pub(crate) fn inbox_frame(
    inbox: &mut Inbox,
    size: (usize, usize),
    theme: Theme,
    now: u64,
) -> String {
    let mut out = String::new();
    let screen = inbox.screen(size, now);
    full::draw(&[], &screen, size, theme, &mut out);
    inbox.drawn(now);
    out
}

/// Returns lines as the linear screen prints them.
#[cfg(test)]
pub(crate) fn linear_text(lines: &[Line]) -> String {
    let mut out = String::new();
    linear::write(&wrap_all(lines, 10_000), &mut out);
    out
}
