//! Texts that the runtime itself sends to customers: short, and without figures.

/// Sent when a person is asked for.
pub(crate) const HOLD: &str = "Let me connect you with my team. They'll be right with you.";
/// Sent while nobody has come yet.
pub(crate) const STILL_WAITING: &str =
    "Thank you for your patience. A colleague has been asked and will be with you soon.";
/// Sent when the agent has reached its daily limits.
pub(crate) const RATE_LIMITED: &str =
    "I cannot answer any more messages today. Please write again tomorrow.";
/// Sent when the credits are exhausted.
pub(crate) const NO_CREDITS: &str =
    "I cannot answer right now. My team has been told and will get back to you.";
/// Sent when every model failed.
pub(crate) const APOLOGY: &str = "I am having trouble right now; a colleague will look at this.";
/// Sent when no agent can answer.
pub(crate) const NO_AGENT: &str =
    "Nobody is available to answer here at the moment. Please try again later.";
/// Sent when an approval expired.
pub(crate) const APPROVAL_EXPIRED: &str =
    "What you asked for could not be confirmed in time. Please ask again if you still need it.";
/// Sent when an agent's answer is empty.
pub(crate) const EMPTY_ANSWER: &str = "I have looked into it, but I have nothing to add right now.";
