//! Text on its way out: Markdown is read once, cut to the lengths that a channel
//! takes, and written as the channel reads it. All of it is pure.

mod html;
mod markdown;
mod rich;
mod split;

pub(crate) use html::Html;
pub use rich::Rich;
pub use split::{Length, Unit};
