//! Screen, theme, files and editor of the UI.

use std::io::IsTerminal as _;
use std::path::Path;

use clap::Args;
use ostler_tui::{ChatOptions, ScreenKind, Theme};

/// How the UI looks.
#[derive(Debug, Args)]
pub(super) struct AppearanceArgs {
    /// Append lines and read answers line by line: for pipes, simple terminals and screen
    /// readers
    #[arg(long, conflicts_with = "full_screen")]
    linear: bool,
    /// Use the whole screen instead of the scrollback of the terminal
    #[arg(long)]
    full_screen: bool,
    /// Colours for a background: dark, light or none [default: what the terminal says, or
    /// none with NO_COLOR]
    #[arg(long, value_name = "NAME")]
    theme: Option<Theme>,
}

impl AppearanceArgs {
    /// Returns the options of the UI, with its files beside the one with the threads.
    pub(super) fn options(&self, threads: &Path) -> anyhow::Result<ChatOptions> {
        let folder = threads.parent().unwrap_or(Path::new("."));
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let is_simple = variable("TERM").is_none_or(|term| term == "dumb");
        let screen = match (self.linear || !is_terminal || is_simple, self.full_screen) {
            (true, _) => ScreenKind::Linear,
            (false, true) => ScreenKind::Full,
            (false, false) => ScreenKind::Inline,
        };
        let theme = match (self.theme, variable("COLORFGBG")) {
            (Some(theme), _) => theme,
            (None, _) if variable("NO_COLOR").is_some() || !is_terminal => Theme::NoColour,
            (None, Some(colours)) => Theme::of_background(&colours),
            (None, None) => Theme::Dark,
        };
        Ok(ChatOptions {
            screen,
            theme,
            keys: Some(folder.join("keys.toml")),
            history: Some(folder.join("chat-history")),
            draft: Some(folder.join("chat-draft")),
            editor: variable("VISUAL").or_else(|| variable("EDITOR")),
            ..ChatOptions::default()
        })
    }
}
