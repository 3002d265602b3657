//! When a rule fits.

use ostler_engine::outcome::Status;
use regex::Regex;

use super::asked::{Asked, Situation};
use super::template::Values;

/// What a text is to be.
#[derive(Debug)]
pub(super) enum TextMatch {
    /// It contains this.
    Pattern(Regex),
    /// It is this.
    Is(String),
}

impl TextMatch {
    /// How many groups it captures.
    pub(super) fn groups(&self) -> usize {
        match self {
            Self::Pattern(regex) => regex.captures_len() - 1,
            Self::Is(_) => 0,
        }
    }

    /// The names of its groups.
    pub(super) fn names(&self) -> Vec<Option<String>> {
        match self {
            Self::Pattern(regex) => {
                regex.capture_names().skip(1).map(|name| name.map(str::to_owned)).collect()
            }
            Self::Is(_) => Vec::new(),
        }
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Pattern(regex) => regex.is_match(text),
            Self::Is(expected) => text == expected,
        }
    }

    /// Whether it fits, and what it captured if it does.
    fn capture<'t>(&self, text: &'t str, values: &mut Values<'t>) -> bool {
        match self {
            Self::Pattern(regex) if self.groups() > 0 => {
                let Some(captures) = regex.captures(text) else { return false };
                let groups = captures.iter().skip(1).map(|group| group.map(|group| group.as_str()));
                values.groups.extend(groups);
                true
            }
            _ => self.fits(text),
        }
    }
}

/// A number, or all from a number on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Exactly(u64),
    From(u64),
}

impl Which {
    const fn fits(self, number: u64) -> bool {
        match self {
            Self::Exactly(expected) => number == expected,
            Self::From(first) => number >= first,
        }
    }
}

/// What one of the results is to be.
#[derive(Debug, Default)]
pub(super) struct ResultMatch {
    pub(super) tool: Option<String>,
    /// Any of these; empty is every status.
    pub(super) status: Vec<Status>,
    pub(super) content: Option<TextMatch>,
}

/// When a rule fits: all of these hold.
#[derive(Debug, Default)]
pub(super) struct When {
    pub(super) user: Option<TextMatch>,
    pub(super) result: Option<ResultMatch>,
    pub(super) turn: Option<Which>,
    pub(super) step: Option<Which>,
    pub(super) agent: Option<TextMatch>,
    pub(super) model: Option<TextMatch>,
    pub(super) offered: Vec<String>,
    pub(super) not_offered: Vec<String>,
}

impl When {
    /// Whether it fits, and what it captured. `any_step` is set for rules that
    /// answer step after step; the others answer what has just been written,
    /// unless they say otherwise.
    pub(super) fn fits<'s>(
        &self,
        asked: &Asked<'_>,
        situation: &'s Situation<'_>,
        any_step: bool,
    ) -> Option<Values<'s>> {
        let in_time = match (self.step, &self.result) {
            (Some(step), _) => step.fits(situation.step),
            (None, Some(_)) => true,
            (None, None) => any_step || situation.is_new,
        };
        let offered = |name: &String| asked.offered.contains(name);
        let fits = in_time
            && self.turn.is_none_or(|turn| turn.fits(asked.turn()))
            && self.agent.as_ref().is_none_or(|agent| agent.fits(asked.system))
            && self.model.as_ref().is_none_or(|model| model.fits(asked.model))
            && self.offered.iter().all(offered)
            && !self.not_offered.iter().any(offered);
        if !fits {
            return None;
        }
        let mut values = Values::new(situation);
        if let Some(user) = &self.user
            && !user.capture(&situation.user, &mut values)
        {
            return None;
        }
        self.result_fits(situation, &mut values).then_some(values)
    }

    fn result_fits<'s>(&self, situation: &'s Situation<'_>, values: &mut Values<'s>) -> bool {
        let Some(expected) = &self.result else { return true };
        situation.results.iter().any(|(tool, result)| {
            let outcome = &result.outcome;
            let fits = (expected.tool.is_none() || expected.tool.as_deref() == tool)
                && (expected.status.is_empty() || expected.status.contains(&outcome.status))
                && expected
                    .content
                    .as_ref()
                    .is_none_or(|content| content.capture(&outcome.content, values));
            if fits {
                values.result = Some(&outcome.content);
            }
            fits
        })
    }
}
