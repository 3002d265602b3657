//! The terminal UI of the interactive harness, on the wire types of `ostler-api` only.
//!
//! Events and stored messages fold into cells, cells become lines, lines are wrapped into
//! rows, and rows go to one of three sinks. The cells are the truth: when the size of the
//! terminal changes, everything is written again.
//!
//! | module | owns |
//! |---|---|
//! | [`protocol`] | what the UI and the agent behind it tell each other |
//! | `cells` | events and stored messages as a list of cells; pure |
//! | `text` | lines, tones, wrapping, Markdown, differences; removes escape sequences |
//! | `render` | cells and questions as lines |
//! | `sinks` | rows in the scrollback, on the whole screen, or appended |
//! | `composer` | the text that is being written: editing, pastes, history, completion |
//! | `keymap` | keys and what they do |
//! | `pickers` | lists to choose from |
//! | [`inbox`] | conversations of customers for operators, with a state of its own |
//! | `app` | the state of all of it; keys and updates in, effects out |
//! | [`measure`] | what the benchmarks measure |
//! | `run` | the loop, and the only code that touches the terminal |

mod app;
mod cells;
mod composer;
pub mod inbox;
mod keymap;
pub mod measure;
mod pickers;
pub mod protocol;
mod render;
mod run;
mod sinks;
#[cfg(test)]
mod tests;
mod text;

pub use run::{
    ChatChannels, ChatError, ChatOptions, InboxChannels, InboxOptions, ScreenKind, run, run_inbox,
};
pub use text::theme::Theme;
