//! Talking to a turn that runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, mpsc};

use crate::history::CallId;
use crate::turn::{Answer, Decision, FollowUp, Input, Path};

/// The most commands that wait for a turn.
const MOST: usize = 64;

/// The turn is over, or has too many commands already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn takes no more commands")]
pub struct Gone;

/// Stopping has a way of its own, so that nothing can stand in it.
#[derive(Debug, Default)]
struct Stop {
    wanted: AtomicBool,
    rings: Notify,
}

/// A way to talk to a turn that runs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    sender: mpsc::Sender<(Path, Input)>,
    stop: Arc<Stop>,
}

/// The other end, for the driver.
#[derive(Debug)]
pub struct Commands {
    receiver: mpsc::Receiver<(Path, Input)>,
    stop: Arc<Stop>,
}

/// Commands that a turn did not take.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LeftOver {
    /// What was written to it.
    pub written: Vec<FollowUp>,
    /// Decisions on its calls.
    pub decided: Vec<(Path, CallId, Decision)>,
    /// Answers to its questions.
    pub answered: Vec<(Path, CallId, Answer)>,
}

/// Both ends.
pub fn commands() -> (Handle, Commands) {
    let (sender, receiver) = mpsc::channel(MOST);
    let stop = Arc::<Stop>::default();
    (Handle { sender, stop: stop.clone() }, Commands { receiver, stop })
}

impl Handle {
    fn send(&self, path: Path, input: Input) -> Result<(), Gone> {
        self.sender.try_send((path, input)).map_err(|_| Gone)
    }

    /// Stops the turn.
    pub fn abort(&self) {
        self.stop.wanted.store(true, Ordering::Release);
        self.stop.rings.notify_one();
    }

    /// Has the turn drop what it does and answer this.
    pub fn steer(&self, to: FollowUp) -> Result<(), Gone> {
        self.send(Path::new(), Input::Steer(to))
    }

    /// Has the turn answer this once it has answered what it is at. What it does
    /// not get to is found in [`Commands::left_over`] or with the turn.
    pub fn follow_up(&self, what: FollowUp) -> Result<(), Gone> {
        self.send(Path::new(), Input::FollowUp(what))
    }

    /// Decides on a call.
    pub fn decide(&self, path: Path, call: CallId, decision: Decision) -> Result<(), Gone> {
        self.send(path, Input::Decision(call, decision))
    }

    /// Answers a question.
    pub fn answer(&self, path: Path, call: CallId, answer: Answer) -> Result<(), Gone> {
        self.send(path, Input::Answer(call, answer))
    }
}

impl Commands {
    /// Nobody talks to the turn.
    pub fn none() -> Self {
        commands().1
    }

    /// Takes no more commands, and gives back those that were not taken. The last
    /// of them came while the turn ended or was suspended: a decision among them is
    /// for whoever takes the turn up again.
    pub fn left_over(mut self) -> LeftOver {
        self.receiver.close();
        let mut left = LeftOver::default();
        while let Ok((path, input)) = self.receiver.try_recv() {
            match input {
                Input::FollowUp(what) | Input::Steer(what) => left.written.push(what),
                Input::Decision(call, decision) => left.decided.push((path, call, decision)),
                Input::Answer(call, answer) => left.answered.push((path, call, answer)),
                // A handle sends nothing else.
                _ => {}
            }
        }
        left
    }

    /// A command that has come already.
    pub(super) fn at_hand(&mut self) -> Option<(Path, Input)> {
        if self.stop.wanted.swap(false, Ordering::Acquire) {
            return Some((Path::new(), Input::Abort));
        }
        self.receiver.try_recv().ok()
    }

    /// The next command; if nobody can give any more, it waits for ever.
    pub(super) async fn next(&mut self) -> (Path, Input) {
        loop {
            if let Some(command) = self.at_hand() {
                return command;
            }
            tokio::select! {
                biased;
                () = self.stop.rings.notified() => {}
                command = self.receiver.recv() => match command {
                    Some(command) => return command,
                    None => self.stop.rings.notified().await,
                },
            }
        }
    }
}
