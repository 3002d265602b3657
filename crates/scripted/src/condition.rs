//! The conditions of rules.

use ostler_engine::outcome::OutcomeStatus;
use regex::Regex;
use serde::Deserialize;

use super::parse::one_or_more;
use super::request::{ModelRequest, Situation};
use super::template::Values;

/// A condition on a text.
#[derive(Debug)]
pub(super) enum TextMatch {
    /// The text contains a match.
    Pattern(Regex),
    Exact(String),
}

impl TextMatch {
    /// Returns the names of the capture groups.
    fn groups(&self) -> impl Iterator<Item = &str> {
        let regex = match self {
            Self::Pattern(regex) => Some(regex),
            Self::Exact(_) => None,
        };
        regex.into_iter().flat_map(Regex::capture_names).flatten()
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Pattern(regex) => regex.is_match(text),
            Self::Exact(expected) => text == expected,
        }
    }

    /// Matches a text and adds what was captured to `values`.
    fn capture<'t>(&'t self, text: &'t str, values: &mut Values<'t>) -> bool {
        match self {
            Self::Pattern(regex) if regex.captures_len() > 1 => {
                let Some(captures) = regex.captures(text) else { return false };
                let texts = captures.iter().map(|group| group.map_or("", |group| group.as_str()));
                let groups = regex.capture_names().zip(texts);
                values.groups.extend(groups.filter_map(|(name, text)| Some((name?, text))));
                true
            }
            _ => self.matches(text),
        }
    }
}

/// A condition on a number: exactly this one, or this one and all above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub(super) enum NumberMatch {
    Exactly(u64),
    From(u64),
}

impl NumberMatch {
    const fn matches(self, number: u64) -> bool {
        match self {
            Self::Exactly(expected) => number == expected,
            Self::From(first) => number >= first,
        }
    }
}

/// A condition on one of the results.
#[derive(Debug)]
pub(super) struct ResultMatch {
    pub(super) tool: Option<String>,
    /// Any of these; empty means any status.
    pub(super) status: Vec<OutcomeStatus>,
    pub(super) content: Option<TextMatch>,
}

/// The condition of a rule; all of its parts must hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Condition {
    user: Option<TextMatch>,
    pub(super) result: Option<ResultMatch>,
    turn: Option<NumberMatch>,
    pub(super) step: Option<NumberMatch>,
    agent: Option<TextMatch>,
    model: Option<TextMatch>,
    #[serde(deserialize_with = "one_or_more")]
    offered: Vec<String>,
    #[serde(deserialize_with = "one_or_more")]
    not_offered: Vec<String>,
}

impl Condition {
    /// Returns the names of the groups that are captured: those of the message, of the system
    /// prompt, then those of the result.
    pub(super) fn groups(&self) -> Vec<&str> {
        let content = self.result.as_ref().and_then(|result| result.content.as_ref());
        self.user.iter().chain(&self.agent).chain(content).flat_map(TextMatch::groups).collect()
    }

    /// Returns the captured values if the condition holds. `any_step` is set for rules
    /// that answer step after step; other rules answer only a new message unless they
    /// have a `step` or `result` condition.
    pub(super) fn matches<'s>(
        &'s self,
        request: &ModelRequest<'s>,
        situation: &'s Situation<'_>,
        any_step: bool,
    ) -> Option<Values<'s>> {
        let step_matches = match (self.step, &self.result) {
            (Some(step), _) => step.matches(situation.step),
            (None, Some(_)) => true,
            (None, None) => any_step || situation.is_new,
        };
        let offered = |name: &String| request.offered.contains(name);
        let matches = step_matches
            && self.turn.is_none_or(|turn| turn.matches(request.turn()))
            && self.model.as_ref().is_none_or(|model| model.matches(request.model))
            && self.offered.iter().all(offered)
            && !self.not_offered.iter().any(offered);
        if !matches {
            return None;
        }
        let mut values = Values::new(situation);
        if let Some(user) = &self.user
            && !user.capture(&situation.user, &mut values)
        {
            return None;
        }
        if let Some(agent) = &self.agent
            && !agent.capture(request.system, &mut values)
        {
            return None;
        }
        self.result_matches(situation, &mut values).then_some(values)
    }

    fn result_matches<'s>(&'s self, situation: &'s Situation<'_>, values: &mut Values<'s>) -> bool {
        let Some(expected) = &self.result else { return true };
        situation.results.iter().any(|(tool, result)| {
            let outcome = &result.outcome;
            let matches = (expected.tool.is_none() || expected.tool.as_deref() == tool)
                && (expected.status.is_empty() || expected.status.contains(&outcome.status))
                && expected
                    .content
                    .as_ref()
                    .is_none_or(|content| content.capture(&outcome.content, values));
            if matches {
                values.result = &outcome.content;
            }
            matches
        })
    }
}
