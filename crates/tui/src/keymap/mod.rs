//! Keys and what they do. The defaults are the table below; a file of the user adds keys or
//! takes them away.

mod file;
mod key;

use std::path::Path;

pub(crate) use file::{KeyFile, bind_keys};
use file::{bind_rows, check_names};
pub(crate) use key::KeyPress;

use crate::composer::Edit;

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Submit,
    Newline,
    Steer,
    Interrupt,
    ClearOrQuit,
    QuitIfEmpty,
    Older,
    Newer,
    SearchHistory,
    Complete,
    CycleMode,
    PickMode,
    PickModel,
    PickThread,
    Expand,
    FullScreen,
    Editor,
    UnfoldPaste,
    Redraw,
    PageUp,
    PageDown,
    Help,
    Approve,
    Decline,
    DeclineWithReason,
    EditArguments,
    Always,
    AllowKind,
    Edit(Edit),
}

/// A row of the table: the name in the file, the action, its keys, and what people read.
pub(crate) struct Binding {
    pub(crate) name: &'static str,
    pub(crate) action: Action,
    keys: &'static [&'static str],
    pub(crate) help: &'static str,
}

const fn bind(
    name: &'static str,
    action: Action,
    keys: &'static [&'static str],
    help: &'static str,
) -> Binding {
    Binding { name, action, keys, help }
}

/// Every action with its name and keys.
pub(crate) const BINDINGS: [Binding; 41] = [
    bind("submit", Action::Submit, &["enter"], "send; while the agent works, send after its turn"),
    bind("newline", Action::Newline, &["alt-enter", "shift-enter", "ctrl-j"], "new line"),
    bind("steer", Action::Steer, &["ctrl-s"], "stop the turn and send this instead"),
    bind("interrupt", Action::Interrupt, &["esc"], "stop the turn, close a list"),
    bind("clear", Action::ClearOrQuit, &["ctrl-c"], "clear the text; twice: quit"),
    bind("quit", Action::QuitIfEmpty, &["ctrl-d"], "quit if nothing is written"),
    bind("older", Action::Older, &["up"], "line above, or older message"),
    bind("newer", Action::Newer, &["down"], "line below, or newer message"),
    bind("search_history", Action::SearchHistory, &["ctrl-r"], "search what was sent before"),
    bind("complete", Action::Complete, &["tab"], "complete /commands and @files; card or text"),
    bind("cycle_mode", Action::CycleMode, &["shift-tab"], "next mode"),
    bind("pick_mode", Action::PickMode, &["alt-o"], "choose a mode"),
    bind("pick_model", Action::PickModel, &["alt-m"], "choose a model"),
    bind("pick_thread", Action::PickThread, &["ctrl-t"], "choose a thread"),
    bind("expand", Action::Expand, &["ctrl-o"], "show calls and texts whole, or fold them"),
    bind("full_screen", Action::FullScreen, &["alt-f"], "full screen, or inline again"),
    bind("editor", Action::Editor, &["ctrl-g"], "write in $EDITOR"),
    bind(
        "unfold_paste",
        Action::UnfoldPaste,
        &["alt-p"],
        "show the paste before the cursor as text",
    ),
    bind("redraw", Action::Redraw, &["ctrl-l"], "draw again"),
    bind("page_up", Action::PageUp, &["pageup"], "scroll up, in full screen"),
    bind("page_down", Action::PageDown, &["pagedown"], "scroll down"),
    bind("help", Action::Help, &["?"], "this help, if nothing is written"),
    bind("approve", Action::Approve, &["y"], "card: approve"),
    bind("decline", Action::Decline, &["n"], "card: decline"),
    bind("decline_with_reason", Action::DeclineWithReason, &["d"], "card: decline with a reason"),
    bind("edit_arguments", Action::EditArguments, &["e"], "card: edit the arguments"),
    bind("always", Action::Always, &["a"], "card: approve, and write a rule"),
    bind("allow_kind", Action::AllowKind, &["k"], "card: approve this kind of tool until the end"),
    bind("left", Action::Edit(Edit::Left), &["left", "ctrl-b"], "left"),
    bind("right", Action::Edit(Edit::Right), &["right", "ctrl-f"], "right"),
    bind(
        "word_left",
        Action::Edit(Edit::WordLeft),
        &["alt-b", "ctrl-left", "alt-left"],
        "word left",
    ),
    bind("word_right", Action::Edit(Edit::WordRight), &["alt-right", "ctrl-right"], "word right"),
    bind("line_start", Action::Edit(Edit::LineStart), &["home", "ctrl-a"], "start of the line"),
    bind("line_end", Action::Edit(Edit::LineEnd), &["end", "ctrl-e"], "end of the line"),
    bind("line_up", Action::Edit(Edit::Up), &["ctrl-up"], "line above"),
    bind("line_down", Action::Edit(Edit::Down), &["ctrl-down"], "line below"),
    bind(
        "delete_back",
        Action::Edit(Edit::DeleteBack),
        &["backspace", "ctrl-h"],
        "delete before the cursor",
    ),
    bind(
        "delete_forward",
        Action::Edit(Edit::DeleteForward),
        &["delete"],
        "delete after the cursor",
    ),
    bind(
        "delete_word",
        Action::Edit(Edit::DeleteWord),
        &["ctrl-w", "alt-backspace"],
        "delete the word before",
    ),
    bind(
        "delete_to_start",
        Action::Edit(Edit::DeleteToStart),
        &["ctrl-u"],
        "delete to the start of the line",
    ),
    bind(
        "delete_to_end",
        Action::Edit(Edit::DeleteToEnd),
        &["ctrl-k"],
        "delete to the end of the line",
    ),
];

/// Keys that count only for a card, a question or an empty composer.
const CARD: [Action; 6] = [
    Action::Approve,
    Action::Decline,
    Action::DeclineWithReason,
    Action::EditArguments,
    Action::Always,
    Action::AllowKind,
];

/// The keys that are in force.
#[derive(Debug)]
pub(crate) struct Keymap {
    general: Vec<(KeyPress, Action)>,
    card: Vec<(KeyPress, Action)>,
}

impl Keymap {
    /// Reads the keys of the user, if there is a file, over the defaults.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self, String> {
        Self::of_file(&KeyFile::load(file)?)
    }

    /// Parses a key file.
    #[cfg(test)]
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::of_file(&KeyFile::parse(text)?)
    }

    pub(crate) fn of_file(file: &KeyFile) -> Result<Self, String> {
        let is_card = |action: &Action| CARD.contains(action);
        let table = |of_card: bool| {
            let rows = BINDINGS.iter().filter(move |row| is_card(&row.action) == of_card);
            rows.map(|row| (row.name, row.action, row.keys))
        };
        let names: Vec<&str> = BINDINGS.iter().map(|row| row.name).collect();
        check_names(&names, &file.keys)?;
        let general = bind_rows(table(false), &file.keys)?;
        Ok(Self { general, card: bind_rows(table(true), &file.keys)? })
    }

    pub(crate) fn action(&self, key: KeyPress) -> Option<Action> {
        find(&self.general, key)
    }

    pub(crate) fn card_action(&self, key: KeyPress) -> Option<Action> {
        find(&self.card, key)
    }

    /// Returns the keys of an action as people read them.
    pub(crate) fn shown(&self, action: Action) -> String {
        let all = self.general.iter().chain(&self.card);
        let keys = all.filter(|(_, bound)| *bound == action).map(|(key, _)| key.to_string());
        keys.collect::<Vec<_>>().join(", ")
    }

    /// Returns the table of all keys: keys and what they do.
    pub(crate) fn table(&self) -> Vec<(String, &'static str)> {
        BINDINGS.iter().map(|binding| (self.shown(binding.action), binding.help)).collect()
    }
}

fn find(keys: &[(KeyPress, Action)], key: KeyPress) -> Option<Action> {
    keys.iter().find(|(bound, _)| *bound == key).map(|(_, action)| *action)
}

#[cfg(test)]
mod tests {
    use super::{Action, BINDINGS, Keymap};

    #[test]
    fn m43_keys_are_bound_unbound_and_moved() {
        let keys = Keymap::parse("[keys]\nsteer = [\"enter\"]\nsubmit = [\"ctrl-x\"]\nhelp = []\n")
            .unwrap();
        let check =
            |key: &str, expected| assert_eq!(keys.action(key.parse().unwrap()), expected, "{key}");
        check("enter", Some(Action::Steer));
        check("ctrl-s", None);
        check("ctrl-x", Some(Action::Submit));
        check("?", None);
        check("esc", Some(Action::Interrupt));
        assert_eq!(keys.card_action("y".parse().unwrap()), Some(Action::Approve));
        assert!(Keymap::parse("[keys]\nfly = [\"f\"]\n").unwrap_err().contains("`fly`"));
        assert!(Keymap::parse("[keys]\nhelp = [\"hyper-q\"]\n").is_err());
    }

    /// No default key has two meanings in one place.
    #[test]
    fn m43_every_default_key_reaches_its_action() {
        let keys = Keymap::parse("").unwrap();
        for binding in &BINDINGS {
            for key in binding.keys {
                let key = key.parse().unwrap();
                let found = [keys.action(key), keys.card_action(key)];
                assert!(found.contains(&Some(binding.action)), "{}", binding.name);
            }
        }
    }

    /// `docs/CHAT.md` has every action with its name and its keys.
    #[test]
    fn m43_every_key_is_documented() {
        let page = include_str!("../../../../docs/CHAT.md");
        for binding in &BINDINGS {
            let keys: Vec<String> = binding.keys.iter().map(|key| format!("`{key}`")).collect();
            let row = format!("| `{}` | {} | {} |", binding.name, keys.join(", "), binding.help);
            assert!(page.contains(&row), "docs/CHAT.md lacks {row}");
        }
    }
}
