//! How the terminal UI looks, for each command that has one.

use std::io::IsTerminal as _;

use clap::Args;
use ostler_tui::Theme;

/// The file with the keys of the user, in the folder with the threads.
pub(super) const KEYS_FILE: &str = "keys.toml";

/// How the UI looks.
#[derive(Debug, Args)]
pub(super) struct AppearanceArgs {
    /// Append lines and read answers line by line: for pipes, simple terminals and screen
    /// readers
    #[arg(long)]
    linear: bool,
    /// Colours for a background: dark, light or none [default: what the terminal says, or
    /// none with NO_COLOR]
    #[arg(long, value_name = "NAME")]
    theme: Option<Theme>,
}

impl AppearanceArgs {
    /// Returns whether lines are appended: also where nothing else is possible.
    pub(super) fn is_linear(&self) -> bool {
        let is_simple = variable("TERM").is_none_or(|term| term == "dumb");
        self.linear || !is_terminal() || is_simple
    }

    pub(super) fn theme(&self) -> Theme {
        match (self.theme, variable("COLORFGBG")) {
            (Some(theme), _) => theme,
            (None, _) if variable("NO_COLOR").is_some() || !is_terminal() => Theme::NoColour,
            (None, Some(colours)) => Theme::of_background(&colours),
            (None, None) => Theme::Dark,
        }
    }
}

/// Returns an environment variable that is set and not empty.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}
