//! Outbound text: Markdown is parsed once, split to the length limit of the
//! channel, and rendered as HTML or plain text. Pure functions only.

mod html;
mod markdown;
mod rich_text;
mod split;

pub(crate) use html::HtmlDialect;
pub use rich_text::RichText;
pub use split::{LengthLimit, LengthUnit};
