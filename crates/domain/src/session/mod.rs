//! Sessions: lifetime, status and errors of one conversation.
//!
//! Which agent answers is in [`crate::team`], when a person takes over in
//! [`crate::human`].

pub mod canned_reply;
pub mod errors;
pub mod guided;
pub mod key;
pub mod lifetime;
pub mod search;
pub mod status;
