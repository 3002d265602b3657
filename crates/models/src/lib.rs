//! Models: thin clients for two wire formats, what surrounds them (retry,
//! fallback, prices, the catalogue), the scripted model and a server that plays a
//! provider from a script; and nothing that decides on a turn.
//!
//! Every client waits for bounded times and reads bounded amounts. Keys come
//! from the environment or a file, go out as a header, and are in no message.

pub mod anthropic;
pub mod catalogue;
pub mod chance;
pub mod cooldown;
pub mod fallback;
mod fault;
pub mod http;
pub mod mock;
pub mod openai;
pub mod price;
pub mod retry;
mod safe;
pub mod scripted;
pub mod senses;
pub mod sse;
mod stream;
