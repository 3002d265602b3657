//! Model clients: two wire formats over HTTP, and what surrounds them (retry,
//! fallback, cooldowns, prices, the catalogue). Nothing here decides about a turn.
//!
//! Every request has a timeout and every response a size limit. API keys come from
//! the environment or a file, are sent as a header, and never appear in a message.

pub mod anthropic;
pub mod catalogue;
pub mod cooldown;
pub mod fallback;
mod fault;
pub mod http;
pub mod jitter;
pub mod metrics;
pub mod modalities;
pub mod openai;
pub mod price;
pub mod retry;
mod sanitize;
pub mod sse;
mod stream;
