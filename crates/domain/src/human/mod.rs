//! Humans in the conversation: when an agent must ask for one, and what
//! happens from the question to the hand-back.

pub mod escalation;
pub mod phrases;
pub mod triggers;
