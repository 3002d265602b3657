//! Sessions: the life of one conversation.
//!
//! Owns when a session lives and ends, what status it has, and what went wrong
//! in it. Who answers is [`crate::team`], who takes over [`crate::human`].

pub mod errors;
pub mod guided;
pub mod key;
pub mod lifetime;
pub mod status;
