//! Talking to a turn that runs.

use tokio::sync::mpsc;

use crate::history::{CallId, Content};
use crate::turn::{Answer, Decision, Input, Path};

/// The most commands that wait for a turn.
const MOST: usize = 64;

/// The turn is over, or has too many commands already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn takes no more commands")]
pub struct Gone;

/// A way to talk to a turn that runs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    sender: mpsc::Sender<(Path, Input)>,
}

/// The other end, for the driver.
#[derive(Debug)]
pub struct Commands {
    receiver: mpsc::Receiver<(Path, Input)>,
}

/// Both ends.
pub fn commands() -> (Handle, Commands) {
    let (sender, receiver) = mpsc::channel(MOST);
    (Handle { sender }, Commands { receiver })
}

impl Handle {
    fn send(&self, path: Path, input: Input) -> Result<(), Gone> {
        self.sender.try_send((path, input)).map_err(|_| Gone)
    }

    /// Stops the turn.
    pub fn abort(&self) -> Result<(), Gone> {
        self.send(Path::new(), Input::Abort)
    }

    /// Has the turn drop what it does and answer this.
    pub fn steer(&self, content: Vec<Content>) -> Result<(), Gone> {
        self.send(Path::new(), Input::Steer(content))
    }

    /// Has the turn answer this once it has answered what it is at.
    pub fn follow_up(&self, content: Vec<Content>) -> Result<(), Gone> {
        self.send(Path::new(), Input::FollowUp(content))
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

    /// A command that has come already.
    pub(super) fn at_hand(&mut self) -> Option<(Path, Input)> {
        self.receiver.try_recv().ok()
    }

    /// The next command; if nobody can give any more, it waits for ever.
    pub(super) async fn next(&mut self) -> (Path, Input) {
        match self.receiver.recv().await {
            Some(command) => command,
            None => std::future::pending().await,
        }
    }
}
