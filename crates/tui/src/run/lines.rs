//! The linear screen: lines are appended, and input is read line by line. Nothing is drawn
//! twice, so that it works in a pipe, in a simple terminal and with a screen reader.

use std::io::{BufRead as _, Write as _};

use tokio::sync::mpsc;

use super::{ChatChannels, ChatError, image_file};
use crate::app::{App, Effect, Progress};
use crate::cells::Activity;
use crate::protocol::{ChatRequest, ChatUpdate};
use crate::sinks::linear;
use crate::text::line::Line;
use crate::text::sanitize::one_line;
use crate::text::wrap::wrap_all;

/// Lines are not broken by width here: whatever reads them does that.
const COLUMNS: usize = 10_000;

pub(super) async fn run(mut app: App, mut channels: ChatChannels) -> Result<(), ChatError> {
    let mut input = read_lines();
    let mut progress = Progress::default();
    let (mut shown, mut answered) = (None, None);
    let mut pending = Pending::Reply;
    loop {
        let (finished, _) = progress.advance(&app.transcript, app.detail);
        print(&finished)?;
        let ask = app.transcript.asks.first().map(|ask| ask.id.clone());
        if ask.is_some() && ask != shown {
            print(&app.card_text())?;
        }
        shown.clone_from(&ask);
        let waits = ask.is_some() && ask != answered;
        let is_idle = app.transcript.activity != Activity::Working && pending == Pending::Nothing;
        tokio::select! {
            biased;
            update = channels.updates.recv() => {
                let Some(update) = update else { return Ok(()) };
                let settles = pending.is_settled_by(&update);
                app.update_lines(update);
                if settles || app.transcript.activity == Activity::Working {
                    pending = Pending::Nothing;
                }
            }
            // The next line is an answer if a question is open, else the next message.
            line = input.recv(), if waits || (is_idle && ask.is_none()) => {
                let effects = match (line, waits) {
                    (Some(line), true) => app.answer_line(&line),
                    (Some(line), false) => app.message_line(&line),
                    (None, true) => app.answer_line("n there is no user to ask"),
                    (None, false) => return Ok(()),
                };
                if waits {
                    answered = ask;
                }
                for effect in effects {
                    match effect {
                        Effect::Request(request) => {
                            pending = Pending::of(&request);
                            let _ = channels.requests.send(request);
                        }
                        Effect::Attach(path) => attach(&mut app, &path),
                        Effect::Quit => return Ok(()),
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Adds an image to the next message, and says so.
fn attach(app: &mut App, path: &str) {
    match image_file::open(path) {
        Ok(image) => {
            let name = one_line(&image.name);
            app.transcript.notice(format!("{name} is added to the next message."));
            app.attach(Ok(image));
        }
        Err(why) => app.transcript.notice(one_line(&why)),
    }
}

/// What has to come before the next line is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    /// Any figures or answer of the agent.
    Reply,
    /// The begin of a turn, or that there is none.
    Turn,
}

impl Pending {
    const fn of(request: &ChatRequest) -> Self {
        match request {
            ChatRequest::Send(_)
            | ChatRequest::Steer(_)
            | ChatRequest::Resume
            | ChatRequest::Retry => Self::Turn,
            _ => Self::Reply,
        }
    }

    fn is_settled_by(self, update: &ChatUpdate) -> bool {
        match update {
            ChatUpdate::Refused { .. } => true,
            ChatUpdate::Figures(_) => self == Self::Reply,
            _ => false,
        }
    }
}

pub(super) fn print(lines: &[Line]) -> Result<(), ChatError> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut out = String::new();
    linear::write(&wrap_all(lines, COLUMNS), &mut out);
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(out.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Reads standard input line by line.
pub(super) fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
