//! Human takeover: when an agent escalates a conversation to a person, and the
//! steps from the escalation to the hand-back.

pub mod escalation;
pub mod phrases;
pub mod triggers;
