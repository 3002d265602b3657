//! What the UI and the agent behind it tell each other. The agent runs in this process or on
//! a server; the UI knows nothing but these values.

use ostler_api::thread::{AskAnswer, ThreadMode};
use ostler_api::thread_event::{ThreadEvent, ThreadInfo, ThreadMessage};
use ostler_domain::id::ThreadId;
use serde_json::Value;
use std::path::PathBuf;

/// What the person wants.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatRequest {
    /// Send a message, behind the running turn if there is one.
    Send(ComposedMessage),
    /// Stop the turn, discard the queue and send this.
    Steer(ComposedMessage),
    Abort,
    /// Continue the interrupted turn or the queue.
    Resume,
    Retry,
    ClearQueue,
    Answer(AskAnswer),
    /// Approve, and write the rule that would have.
    Always {
        id: String,
        scope: String,
        arguments: Option<Value>,
    },
    SetMode {
        id: String,
    },
    SetModel {
        id: String,
    },
    SetYolo {
        on: bool,
    },
    ListThreads {
        search: String,
    },
    OpenThread {
        id: ThreadId,
    },
    NewThread,
    Fork,
    Rename {
        title: String,
    },
}

/// A message that a person sends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ComposedMessage {
    pub text: String,
    /// Files with images, which the model sees after the text.
    pub images: Vec<ImageFile>,
}

/// A file with an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFile {
    pub path: PathBuf,
    pub name: String,
    /// In bytes.
    pub size: u64,
}

/// What the agent says.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatUpdate {
    Event(Box<ThreadEvent>),
    /// Another thread is open now, with these messages.
    Opened(Box<OpenedThread>),
    Figures(ChatFigures),
    Threads(Vec<ThreadInfo>),
    /// The files that a message may mention.
    Files(Vec<String>),
    /// What protects the machine from commands, in words.
    Sandbox(String),
    /// A request was refused; the text that was sent, if any, is given back.
    Refused {
        why: String,
        text: Option<String>,
    },
    Notice(String),
}

/// A thread that was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenedThread {
    pub id: ThreadId,
    pub title: Option<String>,
    pub messages: Vec<ThreadMessage>,
    pub mode: String,
    pub model: String,
}

/// Figures of the thread that no event has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatFigures {
    pub credits_spent: u64,
    pub queued: usize,
    pub yolo: bool,
    pub title: Option<String>,
}

/// What the UI shows around the thread, and what can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatSetting {
    /// The folder that the agent works in, if any.
    pub folder: Option<String>,
    /// What protects the machine from commands, in words.
    pub sandbox: Option<String>,
    pub modes: Vec<ThreadMode>,
    pub models: Vec<ChatModel>,
    /// The most credits that the thread may spend.
    pub credit_limit: Option<u64>,
    /// What is said before the first message.
    pub greeting: Vec<String>,
}

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatModel {
    pub id: String,
    /// Price and state of the key, in words.
    pub detail: String,
}
