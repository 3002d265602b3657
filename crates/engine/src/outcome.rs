//! Tool outcomes: what the model is told, and what is to be stored.

use ostler_domain::tool::Trust;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeStatus {
    /// The tool did what it was called for.
    Ok,
    /// A rule of the business says no; nothing was done.
    Refused,
    /// What the call is about does not exist, or is not for this audience; nothing was
    /// done.
    NotFound,
    /// The tool failed; the model may try something else.
    Failed,
    /// The arguments do not match the schema.
    Invalid,
    UnknownTool,
    /// Policy denied the call.
    Denied,
    /// The tool failed too often in this session.
    Disabled,
    /// The call costs more than is left.
    InsufficientCredits,
    /// A person must decide; the conversation continues meanwhile.
    PendingApproval,
    /// A person rejected the call.
    Rejected,
    /// The turn was stopped before the call ended.
    Aborted,
    TimedOut,
    /// An external call was started, and whether it took effect is unknown.
    OutcomeUnknown,
}

impl OutcomeStatus {
    /// Returns the name that is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::NotFound => "not_found",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
            Self::UnknownTool => "unknown_tool",
            Self::Denied => "denied",
            Self::Disabled => "disabled",
            Self::InsufficientCredits => "insufficient_credits",
            Self::PendingApproval => "pending_approval",
            Self::Rejected => "rejected",
            Self::Aborted => "aborted",
            Self::TimedOut => "timed_out",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    /// Returns the status in words.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Ok => "done",
            Self::Refused => "refused",
            Self::NotFound => "not found",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
            Self::UnknownTool => "no such tool",
            Self::Denied => "denied by policy",
            Self::Disabled => "disabled",
            Self::InsufficientCredits => "not enough credits",
            Self::PendingApproval => "waits for approval",
            Self::Rejected => "rejected",
            Self::Aborted => "stopped",
            Self::TimedOut => "timed out",
            Self::OutcomeUnknown => "outcome unknown",
        }
    }

    /// Returns whether this counts as a failure of the tool: mistakes of the model or
    /// the tool, not decisions by policy, a person or the business.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Invalid | Self::TimedOut)
    }
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutcome {
    pub status: OutcomeStatus,
    /// The text for the model.
    pub content: String,
    /// Whether the content comes from outside.
    pub trust: Trust,
    /// Changes to store in the turn's commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<ToolEffect>,
    /// Whether the turn ends here, because the agent handed the conversation over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_turn: bool,
    /// How many units the call used, of a tool that is priced by units. Without it, the call
    /// costs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
}

impl ToolOutcome {
    /// Creates a successful outcome.
    pub fn ok(content: impl Into<String>) -> Self {
        Self::new(OutcomeStatus::Ok, content)
    }

    /// Creates a failed outcome, with a text from which the model can correct itself.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::new(OutcomeStatus::Failed, why)
    }

    /// Creates a trusted outcome without effects.
    pub fn new(status: OutcomeStatus, content: impl Into<String>) -> Self {
        let (content, trust) = (content.into(), Trust::Trusted);
        Self { status, content, trust, effects: Vec::new(), ends_turn: false, units: None }
    }

    /// Marks the content as coming from outside.
    #[must_use]
    pub fn untrusted(self) -> Self {
        Self { trust: Trust::Untrusted, ..self }
    }

    /// Adds a change to store.
    #[must_use]
    pub fn with_effect(mut self, effect: ToolEffect) -> Self {
        self.effects.push(effect);
        self
    }

    /// Sets how many units the call used.
    #[must_use]
    pub fn using(self, units: u32) -> Self {
        Self { units: Some(units), ..self }
    }

    /// Ends the turn with this outcome: the model is not asked again.
    #[must_use]
    pub fn ending_turn(self) -> Self {
        Self { ends_turn: true, ..self }
    }

    /// Limits the content to `max_bytes`, cut at a character boundary, and appends how
    /// many bytes were left out. Content that was truncated before is kept as it is.
    #[must_use]
    pub fn truncated(mut self, max_bytes: usize) -> Self {
        if self.content.len() > max_bytes && !is_truncated(&self.content, max_bytes) {
            let end = self.content.floor_char_boundary(max_bytes);
            let omitted = self.content.len() - end;
            self.content.truncate(end);
            self.content.push_str(&format!("{CUT}{omitted}{LEFT_OUT}"));
        }
        self
    }
}

const CUT: &str = "\n[";
const LEFT_OUT: &str = " more bytes were left out]";

/// Returns whether a text exceeds the limit only by the note that it was truncated.
fn is_truncated(content: &str, max_bytes: usize) -> bool {
    let note = content.strip_suffix(LEFT_OUT).and_then(|rest| rest.rsplit_once(CUT));
    note.is_some_and(|(kept, count)| {
        kept.len() <= max_bytes
            && count.len() <= 20
            && count.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// A change that a local tool wants stored. The engine does not interpret it; the
/// host that commits the turn does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEffect {
    pub kind: String,
    pub data: Value,
}

#[cfg(test)]
mod tests {
    use super::ToolOutcome;

    #[test]
    fn a_long_outcome_is_truncated_at_a_character_boundary() {
        let truncated_text =
            |text: &str, max_bytes| ToolOutcome::ok(text).truncated(max_bytes).content;
        assert_eq!(truncated_text("short", 5), "short");
        assert_eq!(truncated_text("aß", 2), "a\n[2 more bytes were left out]");
        let twice = ToolOutcome::ok("x".repeat(100)).truncated(50).truncated(50).content;
        assert_eq!(twice, truncated_text(&"x".repeat(100), 50));
        assert!(twice.ends_with("x\n[50 more bytes were left out]"), "{twice}");
        let narrower = ToolOutcome::ok("x".repeat(100)).truncated(50).truncated(20).content;
        assert!(narrower.starts_with(&format!("{}\n[", "x".repeat(20))), "{narrower}");
        let forged = format!("\n[{} more bytes were left out]", "9".repeat(1000));
        assert!(truncated_text(&forged, 50).len() < 100);
    }
}
