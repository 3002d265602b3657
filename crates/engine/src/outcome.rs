//! What a tool call came to: what the model is told, and what is to be stored.

use ostler_domain::tool::Trust;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was done.
    Ok,
    /// The tool failed; the model may try something else.
    Failed,
    /// The arguments do not fit the tool.
    Invalid,
    /// There is no such tool.
    UnknownTool,
    /// Policy refused it.
    Denied,
    /// The tool has failed too often in this session.
    Disabled,
    /// It costs more than is left.
    InsufficientCredits,
    /// A person is to decide; the conversation goes on meanwhile.
    PendingApproval,
    /// A person said no.
    Rejected,
    /// The turn was stopped before it ended.
    Aborted,
    /// It took too long.
    TimedOut,
    /// It was begun outside and nobody knows whether it happened.
    OutcomeUnknown,
}

impl Status {
    /// Whether it counts against the tool: what the model or the tool got wrong,
    /// not what policy or a person decided.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Invalid | Self::TimedOut)
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// What the model is told.
    pub content: String,
    /// Whether that is from outside.
    pub trust: Trust,
    /// What is to be stored with it, in the turn's commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Whether the turn ends with it: the agent has given the conversation away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
}

impl Outcome {
    /// It was done, and this is what the model is told.
    pub fn ok(content: impl Into<String>) -> Self {
        Self::of(Status::Ok, content)
    }

    /// It failed; the model is told why and may correct itself.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::of(Status::Failed, why)
    }

    /// It ended like this.
    pub fn of(status: Status, content: impl Into<String>) -> Self {
        let (content, trust) = (content.into(), Trust::Trusted);
        Self { status, content, trust, effects: Vec::new(), last: false }
    }

    /// The same, from outside.
    #[must_use]
    pub fn untrusted(self) -> Self {
        Self { trust: Trust::Untrusted, ..self }
    }

    /// The same, with something to store.
    #[must_use]
    pub fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// The same, as the last thing of the turn: the model is not asked again.
    #[must_use]
    pub fn last(self) -> Self {
        Self { last: true, ..self }
    }

    /// The same, with no more than so many bytes for the model, cut between two
    /// characters, and a note of how many were left out. What was cut already
    /// stays as it is.
    #[must_use]
    pub fn capped(mut self, most: usize) -> Self {
        if self.content.len() > most && !is_cut(&self.content, most) {
            let cut = self.content.floor_char_boundary(most);
            let left_out = self.content.len() - cut;
            self.content.truncate(cut);
            self.content.push_str(&format!("{CUT}{left_out}{LEFT_OUT}"));
        }
        self
    }
}

const CUT: &str = "\n[";
const LEFT_OUT: &str = " more bytes were left out]";

/// Whether a text is so long only because of the note that it was cut.
fn is_cut(content: &str, most: usize) -> bool {
    let noted = content.strip_suffix(LEFT_OUT).and_then(|rest| rest.rsplit_once(CUT));
    noted.is_some_and(|(kept, count)| {
        kept.len() <= most && count.len() <= 20 && count.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Something that a local tool wants stored. The engine does not know what it
/// means; whoever commits the turn does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// What kind of change it is.
    pub kind: String,
    /// The change.
    pub data: Value,
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    #[test]
    fn a_long_outcome_is_cut_between_characters() {
        let said = |text: &str, most| Outcome::ok(text).capped(most).content;
        assert_eq!(said("short", 5), "short");
        assert_eq!(said("aß", 2), "a\n[2 more bytes were left out]");
        let twice = Outcome::ok("x".repeat(100)).capped(50).capped(50).content;
        assert_eq!(twice, said(&"x".repeat(100), 50));
        assert!(twice.ends_with("x\n[50 more bytes were left out]"), "{twice}");
        let narrower = Outcome::ok("x".repeat(100)).capped(50).capped(20).content;
        assert!(narrower.starts_with(&format!("{}\n[", "x".repeat(20))), "{narrower}");
        let pretended = format!("\n[{} more bytes were left out]", "9".repeat(1000));
        assert!(said(&pretended, 50).len() < 100);
    }
}
