//! What the runtime itself says to customers. Short, and without figures.

/// A person was asked for.
pub(super) const HOLD: &str = "Let me connect you with my team. They'll be right with you.";
/// A person was asked for before and has not come.
pub(super) const STILL_WAITING: &str =
    "Thank you for your patience. A colleague has been asked and will be with you soon.";
/// The agent has answered as much today as it may.
pub(super) const RATE_LIMITED: &str =
    "I cannot answer any more messages today. Please write again tomorrow.";
/// There is nothing left to pay with.
pub(super) const NO_CREDITS: &str =
    "I cannot answer right now. My team has been told and will get back to you.";
/// Every model failed.
pub(super) const APOLOGY: &str = "I am having trouble right now; a colleague will look at this.";
/// Nobody can answer.
pub(super) const NOBODY: &str =
    "Nobody is available to answer here at the moment. Please try again later.";
/// A call was not decided in time.
pub(super) const APPROVAL_EXPIRED: &str =
    "What you asked for could not be confirmed in time. Please ask again if you still need it.";
/// The agent said nothing.
pub(super) const NOTHING_SAID: &str = "I have looked into it, but I have nothing to add right now.";
