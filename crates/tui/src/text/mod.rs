//! Text as it is shown: lines of spans with a tone, independent of width and colours.

pub(crate) mod diff;
mod inline_markdown;
pub(crate) mod line;
pub(crate) mod markdown;
pub(crate) mod sanitize;
pub(crate) mod table;
pub(crate) mod theme;
pub(crate) mod wrap;
