//! Changes of single fields of a soul.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Soul;

/// New values of some fields of a soul. What is left out stays as it is; a list replaces the
/// whole list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SoulPatch {
    /// The personality, in a sentence or two.
    pub personality: Option<String>,
    /// Character traits; replaces the list.
    pub traits: Option<Vec<String>>,
    /// How it writes and speaks.
    pub communication_style: Option<String>,
    /// Core values; replaces the list.
    pub core_values: Option<Vec<String>>,
    /// What it never does; replaces the list. Only if the owner asked for it.
    pub never_do: Option<Vec<String>>,
    /// What it always does; replaces the list.
    pub always_do: Option<Vec<String>>,
    /// Phrases that escalate the conversation; replaces the list. Only if the owner asked
    /// for it.
    pub escalation_triggers: Option<Vec<String>>,
    /// Anything else, as Markdown; replaces the text.
    pub soul_markdown: Option<String>,
}

impl SoulPatch {
    /// Returns the soul with the new values.
    #[must_use]
    pub fn apply(&self, soul: &Soul) -> Soul {
        fn changed<T: Clone>(new: Option<&T>, old: &T) -> T {
            new.unwrap_or(old).clone()
        }
        Soul {
            personality: changed(self.personality.as_ref(), &soul.personality),
            traits: changed(self.traits.as_ref(), &soul.traits),
            communication_style: changed(
                self.communication_style.as_ref(),
                &soul.communication_style,
            ),
            core_values: changed(self.core_values.as_ref(), &soul.core_values),
            never_do: changed(self.never_do.as_ref(), &soul.never_do),
            always_do: changed(self.always_do.as_ref(), &soul.always_do),
            escalation_triggers: changed(
                self.escalation_triggers.as_ref(),
                &soul.escalation_triggers,
            ),
            soul_markdown: changed(self.soul_markdown.as_ref(), &soul.soul_markdown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SoulPatch;
    use crate::soul::{Soul, SoulField};

    #[test]
    fn a_patch_changes_the_fields_that_it_names() {
        let soul =
            Soul { personality: "warm".into(), traits: vec!["quick".into()], ..Soul::default() };
        let full: SoulPatch =
            serde_json::from_value(serde_json::to_value(Soul::default()).unwrap()).unwrap();
        assert_eq!(full.apply(&soul), Soul::default());
        assert_eq!(SoulPatch::default().apply(&soul), soul);
        let patch = SoulPatch { traits: Some(vec!["patient".into()]), ..SoulPatch::default() };
        let changed = soul.changed_fields(&patch.apply(&soul));
        assert_eq!(changed, [SoulField::Traits].into());
        assert!(serde_json::from_str::<SoulPatch>(r#"{"mood":"good"}"#).is_err());
    }
}
