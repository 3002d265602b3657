//! The keys of the inbox. The defaults are the table below; the section `[inbox]` of the key
//! file adds keys or takes them away.

use crate::keymap::{KeyFile, KeyPress, bind_keys};

/// What a key does while nothing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InboxKey {
    Up,
    Down,
    NextWaiting,
    Open,
    Back,
    TakeOver,
    Reply,
    Note,
    HandBack,
    Dismiss,
    Approve,
    ApproveNow,
    Reject,
    ExpandCall,
    PageUp,
    PageDown,
    Reload,
    Help,
    Quit,
}

/// A row of the table: the name in the file, the action, its keys, and what people read.
pub(super) struct InboxBinding {
    pub(super) name: &'static str,
    pub(super) key: InboxKey,
    pub(super) keys: &'static [&'static str],
    pub(super) help: &'static str,
}

const fn bind(
    name: &'static str,
    key: InboxKey,
    keys: &'static [&'static str],
    help: &'static str,
) -> InboxBinding {
    InboxBinding { name, key, keys, help }
}

/// Every action with its name and keys.
pub(super) const BINDINGS: [InboxBinding; 19] = [
    bind("up", InboxKey::Up, &["up", "k"], "conversation above"),
    bind("down", InboxKey::Down, &["down", "j"], "conversation below"),
    bind("next_waiting", InboxKey::NextWaiting, &["n"], "next conversation that waits"),
    bind("open", InboxKey::Open, &["enter", "right"], "show the conversation"),
    bind("back", InboxKey::Back, &["esc", "left"], "back to the list"),
    bind("take_over", InboxKey::TakeOver, &["t"], "take the conversation over"),
    bind("reply", InboxKey::Reply, &["r"], "write to the customer"),
    bind("note", InboxKey::Note, &["i"], "add an internal note"),
    bind("hand_back", InboxKey::HandBack, &["h"], "hand back to the agent"),
    bind("dismiss", InboxKey::Dismiss, &["f"], "false alarm: the agent answers"),
    bind("approve", InboxKey::Approve, &["y"], "approve the call"),
    bind("approve_now", InboxKey::ApproveNow, &["Y"], "approve, and make the call at once"),
    bind("reject", InboxKey::Reject, &["x"], "reject the call, with a reason"),
    bind("expand_call", InboxKey::ExpandCall, &["o", "ctrl-o"], "show all of the call, or fold it"),
    bind("page_up", InboxKey::PageUp, &["pageup", "ctrl-u"], "scroll up"),
    bind("page_down", InboxKey::PageDown, &["pagedown", "ctrl-d"], "scroll down"),
    bind("reload", InboxKey::Reload, &["ctrl-l"], "read everything again"),
    bind("help", InboxKey::Help, &["?"], "this help"),
    bind("quit", InboxKey::Quit, &["q", "ctrl-c"], "quit; drafts are kept"),
];

/// The keys that are in force.
#[derive(Debug)]
pub(super) struct InboxKeys(Vec<(KeyPress, InboxKey)>);

impl InboxKeys {
    pub(super) fn of_file(file: &KeyFile) -> Result<Self, String> {
        let table = BINDINGS.iter().map(|one| (one.name, one.key, one.keys));
        bind_keys(table, &file.inbox).map(Self)
    }

    pub(super) fn find(&self, key: KeyPress) -> Option<InboxKey> {
        self.0.iter().find(|(bound, _)| *bound == key).map(|(_, action)| *action)
    }

    /// Returns the keys of an action as people read them.
    pub(super) fn shown(&self, key: InboxKey) -> String {
        let keys = self.0.iter().filter(|(_, bound)| *bound == key);
        keys.map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the first key of an action.
    pub(super) fn first(&self, key: InboxKey) -> Option<String> {
        self.0.iter().find(|(_, bound)| *bound == key).map(|(key, _)| key.to_string())
    }
}
