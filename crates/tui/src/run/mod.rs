//! The loop: keys, updates and frames. The only part that touches the terminal.

mod editor;
mod image_file;
mod inbox;
mod lines;
mod screen;
mod terminal;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossterm::event::{Event, EventStream, KeyEventKind};
use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::app::{App, Effect};
use crate::composer::history::write_draft;
use crate::keymap::Keymap;
use crate::protocol::{ChatRequest, ChatSetting, ChatUpdate};
use crate::text::theme::Theme;

pub use self::inbox::{InboxChannels, InboxOptions, run_inbox};
#[cfg(test)]
pub(crate) use self::inbox::{inbox_frame, linear_text};
pub(crate) use self::screen::Screen;
use self::terminal::Terminal;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// How often a spinner moves.
const ANIMATION: Duration = Duration::from_millis(120);
/// A size that changes is waited for until it stays.
const RESIZE_DELAY: Duration = Duration::from_millis(60);
/// How long after a change the draft is stored.
const DRAFT_DELAY: Duration = Duration::from_millis(300);

/// How the transcript is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScreenKind {
    /// In the terminal's own scrollback.
    #[default]
    Inline,
    Full,
    /// Appended lines, input line by line.
    Linear,
}

/// How the UI looks, and its files.
#[derive(Debug, Default)]
pub struct ChatOptions {
    pub setting: ChatSetting,
    pub screen: ScreenKind,
    pub theme: Theme,
    /// The file with keys of the user.
    pub keys: Option<PathBuf>,
    /// The file with messages that were sent.
    pub history: Option<PathBuf>,
    /// The file with what is being written.
    pub draft: Option<PathBuf>,
    /// The command of the external editor.
    pub editor: Option<String>,
}

/// Why the UI cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] std::io::Error),
    #[error("the keys cannot be used: {0}")]
    Keys(String),
    #[error("{0}")]
    Unreadable(String),
    #[error("not everything was done; commands that failed: {count}")]
    FailedCommands { count: usize },
}

/// The agent's side of the conversation.
#[derive(Debug)]
pub struct ChatChannels {
    pub requests: mpsc::UnboundedSender<ChatRequest>,
    pub updates: mpsc::Receiver<ChatUpdate>,
}

/// Shows the UI until the person quits or the agent is gone.
pub async fn run(options: ChatOptions, channels: ChatChannels) -> Result<(), ChatError> {
    let keymap = Keymap::load(options.keys.as_deref()).map_err(ChatError::Keys)?;
    let app = App::new(options.setting.clone(), keymap, options.history.clone());
    if options.screen == ScreenKind::Linear {
        return lines::run(app, channels).await;
    }
    let terminal = Terminal::enter()?;
    let screen = Screen::new(options.screen, options.theme, Terminal::size()?);
    let mut chat = Chat {
        app,
        screen,
        terminal,
        options,
        channels,
        redraw_at: None,
        draft: DraftState::default(),
    };
    if let Some(draft) = &chat.options.draft {
        chat.app.restore_draft(draft, image_file::read_of_draft(draft));
        chat.draft.stored = chat.app.composer.revision;
    }
    let result = chat.follow().await;
    chat.store_draft();
    chat.screen.leave(&mut chat.terminal)?;
    result
}

/// The running UI.
struct Chat {
    app: App,
    screen: Screen,
    terminal: Terminal,
    options: ChatOptions,
    channels: ChatChannels,
    /// When everything is written for another size.
    redraw_at: Option<Instant>,
    draft: DraftState,
}

/// Which draft is stored.
#[derive(Default)]
struct DraftState {
    stored: u64,
    due: Option<Instant>,
}

enum Flow {
    Continue,
    Quit,
}

impl Chat {
    async fn follow(&mut self) -> Result<(), ChatError> {
        let mut input = EventStream::new();
        let mut last_frame = Instant::now() - FRAME;
        let mut dirty = true;
        loop {
            if dirty && self.redraw_at.is_none() && last_frame.elapsed() >= FRAME {
                self.screen.draw(&mut self.app, now(), &mut self.terminal)?;
                last_frame = Instant::now();
                dirty = false;
            }
            let next = self.next_timer(dirty, last_frame);
            tokio::select! {
                biased;
                event = input.next() => match event {
                    None => return Ok(()),
                    Some(Err(error)) => return Err(error.into()),
                    Some(Ok(event)) => {
                        dirty = true;
                        let effects = self.input(event);
                        for effect in effects {
                            if effect == Effect::OpenEditor {
                                drop(input);
                                self.open_editor().await?;
                                input = EventStream::new();
                            } else if let Flow::Quit = self.effect(effect)? {
                                return Ok(());
                            }
                        }
                    }
                },
                update = self.channels.updates.recv() => {
                    let Some(update) = update else { return Ok(()) };
                    dirty = true;
                    self.updates(update)?;
                }
                () = sleep_until(next), if next.is_some() => {
                    dirty |= self.timers();
                    dirty |= self.app.is_animated();
                }
            }
        }
    }

    /// Returns when something is to be done though nothing happens; never if the UI is idle.
    fn next_timer(&self, dirty: bool, last_frame: Instant) -> Option<Instant> {
        let frame = dirty.then(|| last_frame + FRAME).filter(|_| self.redraw_at.is_none());
        let animation = self.app.is_animated().then(|| last_frame + ANIMATION);
        [frame, animation, self.redraw_at, self.draft.due].into_iter().flatten().min()
    }

    fn timers(&mut self) -> bool {
        let time = Instant::now();
        if self.draft.due.is_some_and(|due| due <= time) {
            self.store_draft();
        }
        if self.redraw_at.is_some_and(|at| at <= time) {
            self.redraw_at = None;
            self.screen.resized(Terminal::size().unwrap_or((80, 24)));
            return true;
        }
        false
    }

    /// Takes an update, and those that came with it.
    fn updates(&mut self, first: ChatUpdate) -> Result<(), ChatError> {
        let mut next = Some(first);
        for _ in 0..256 {
            let Some(update) = next else { break };
            if let Some(effect) = self.app.update(update) {
                self.effect(effect)?;
            }
            next = self.channels.updates.try_recv().ok();
        }
        if let Some(update) = next
            && let Some(effect) = self.app.update(update)
        {
            self.effect(effect)?;
        }
        Ok(())
    }

    fn input(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let effects = self.app.key(key.into(), now());
                self.note_draft();
                effects
            }
            Event::Paste(text) => {
                match image_file::of_paste(&text) {
                    Some(image) if !self.app.has_picker() => self.app.attach(Ok(image)),
                    _ => self.app.pasted(&text),
                }
                self.note_draft();
                Vec::new()
            }
            Event::Resize(..) => {
                self.redraw_at = Some(Instant::now() + RESIZE_DELAY);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn effect(&mut self, effect: Effect) -> Result<Flow, ChatError> {
        match effect {
            Effect::Request(request) => {
                // The agent is gone; the closed updates end the loop.
                let _ = self.channels.requests.send(request);
            }
            Effect::Redraw => self.screen.resized(Terminal::size()?),
            Effect::ToggleFullScreen => self.screen.toggle_full(&mut self.terminal)?,
            Effect::Scroll(pages) => self.screen.scroll(pages),
            Effect::Copy(text) => self.terminal.copy(&text)?,
            Effect::Attach(path) => self.app.attach(image_file::open(&path)),
            Effect::OpenEditor => {}
            Effect::Quit => return Ok(Flow::Quit),
        }
        Ok(Flow::Continue)
    }

    fn note_draft(&mut self) {
        if self.app.composer.revision != self.draft.stored && self.draft.due.is_none() {
            self.draft.due = Some(Instant::now() + DRAFT_DELAY);
        }
    }

    fn store_draft(&mut self) {
        self.draft.due = None;
        self.draft.stored = self.app.composer.revision;
        if let Some(file) = &self.options.draft {
            let text = self.app.draft();
            write_draft(file, &text);
            image_file::store_of_draft(file, &self.app.composer.images_of(&text));
        }
    }

    async fn open_editor(&mut self) -> Result<(), ChatError> {
        let file =
            self.options.draft.clone().unwrap_or_else(|| {
                std::env::temp_dir().join(format!("ostler-{}", std::process::id()))
            });
        let editor = self.options.editor.clone().unwrap_or_else(|| "vi".to_owned());
        self.screen.suspend(&mut self.terminal)?;
        let text =
            editor::edit(editor, file.with_extension("md"), self.app.composer.whole_text()).await;
        self.terminal.resume()?;
        self.screen.resized(Terminal::size()?);
        match text {
            Ok(text) => self.app.composer.set(text.trim_end()),
            Err(error) => self.app.transcript.notice(format!("The editor cannot be used: {error}")),
        }
        self.note_draft();
        Ok(())
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Returns the time in milliseconds since 1970.
fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the first frame of an app.
#[cfg(test)]
pub(crate) fn screen_of(app: &App, size: (usize, usize), theme: Theme) -> String {
    Screen::new(ScreenKind::Inline, theme, size).frame(app, 0)
}
