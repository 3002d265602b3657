//! World files: TOML with the position of every value, so that an error can point at it.

mod check;
mod data;
mod fields;
mod parse;
mod problem;
mod source;

pub(crate) use check::check;
pub use data::DataEntry;
pub use fields::parse_fields;
pub(crate) use parse::to_json;
pub use parse::{ParsedFiles, PartlyParsed, parse, parse_partly};
pub use problem::{Problem, Problems};
pub use source::Source;
