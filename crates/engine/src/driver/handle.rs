//! The channel through which others control a running turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, mpsc};

use crate::history::CallId;
use crate::turn::{AgentPath, Answer, Decision, FollowUp, Input};

/// How many commands may wait for a turn.
const MAX_COMMANDS: usize = 64;

/// The error of a command to a turn that has ended or has too many commands
/// waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn takes no more commands")]
pub struct CommandRejected;

/// The request to abort. It bypasses the command queue, so that a full queue cannot
/// delay it.
#[derive(Debug, Default)]
struct StopSignal {
    requested: AtomicBool,
    notify: Notify,
}

/// The sending side: controls a running turn. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TurnHandle {
    sender: mpsc::Sender<(AgentPath, Input)>,
    stop: Arc<StopSignal>,
}

/// The receiving side, read by the driver.
#[derive(Debug)]
pub struct TurnCommands {
    receiver: mpsc::Receiver<(AgentPath, Input)>,
    stop: Arc<StopSignal>,
}

/// Commands that a turn has not processed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UnreadCommands {
    pub messages: Vec<FollowUp>,
    pub decisions: Vec<(AgentPath, CallId, Decision)>,
    pub answers: Vec<(AgentPath, CallId, Answer)>,
}

/// Creates a command channel.
pub fn command_channel() -> (TurnHandle, TurnCommands) {
    let (sender, receiver) = mpsc::channel(MAX_COMMANDS);
    let stop = Arc::<StopSignal>::default();
    (TurnHandle { sender, stop: stop.clone() }, TurnCommands { receiver, stop })
}

impl TurnHandle {
    fn send(&self, path: AgentPath, input: Input) -> Result<(), CommandRejected> {
        self.sender.try_send((path, input)).map_err(|_| CommandRejected)
    }

    /// Aborts the turn.
    pub fn abort(&self) {
        self.stop.requested.store(true, Ordering::Release);
        self.stop.notify.notify_one();
    }

    /// Makes the turn abandon its work and answer this message instead.
    pub fn steer(&self, message: FollowUp) -> Result<(), CommandRejected> {
        self.send(AgentPath::new(), Input::Steer(message))
    }

    /// Makes the turn answer this message after the current one. Messages it does not
    /// get to are returned by [`TurnCommands::into_unread`] or
    /// [`Turn::take_follow_ups`](crate::turn::Turn::take_follow_ups).
    pub fn follow_up(&self, message: FollowUp) -> Result<(), CommandRejected> {
        self.send(AgentPath::new(), Input::FollowUp(message))
    }

    /// Decides a call that waits for approval.
    pub fn decide(
        &self,
        path: AgentPath,
        call: CallId,
        decision: Decision,
    ) -> Result<(), CommandRejected> {
        self.send(path, Input::Decision(call, decision))
    }

    /// Answers an open question.
    pub fn answer(
        &self,
        path: AgentPath,
        call: CallId,
        answer: Answer,
    ) -> Result<(), CommandRejected> {
        self.send(path, Input::Answer(call, answer))
    }
}

impl TurnCommands {
    /// Returns commands without a sender, for turns that nobody controls.
    pub fn none() -> Self {
        command_channel().1
    }

    /// Closes the channel and returns the commands that were not processed. They
    /// arrived while the turn ended or was suspended; decisions among them apply when
    /// the turn is resumed.
    pub fn into_unread(mut self) -> UnreadCommands {
        self.receiver.close();
        let mut unread = UnreadCommands::default();
        while let Ok((path, input)) = self.receiver.try_recv() {
            match input {
                Input::FollowUp(message) | Input::Steer(message) => unread.messages.push(message),
                Input::Decision(call, decision) => unread.decisions.push((path, call, decision)),
                Input::Answer(call, answer) => unread.answers.push((path, call, answer)),
                // Handles send nothing else.
                _ => {}
            }
        }
        unread
    }

    /// Returns a command that has already arrived.
    pub(super) fn try_next(&mut self) -> Option<(AgentPath, Input)> {
        if self.stop.requested.swap(false, Ordering::Acquire) {
            return Some((AgentPath::new(), Input::Abort));
        }
        self.receiver.try_recv().ok()
    }

    /// Waits for the next command; forever if all senders are gone.
    pub(super) async fn next(&mut self) -> (AgentPath, Input) {
        loop {
            if let Some(command) = self.try_next() {
                return command;
            }
            tokio::select! {
                biased;
                () = self.stop.notify.notified() => {}
                command = self.receiver.recv() => match command {
                    Some(command) => return command,
                    None => self.stop.notify.notified().await,
                },
            }
        }
    }
}
