//! Ordered permission rules, as people write them into files.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{ArgumentPattern, Comparison, Match};
use super::text::TextPattern;
use super::{PermissionPolicy, PermissionQuery, PermissionSource};
use crate::time::Timestamp;
use crate::tool::ToolCategory;
use serde_json::Value;

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSubject {
    /// Tools by name.
    Tool(TextPattern),
    Category(ToolCategory),
}

/// A rule that decides about calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    pub subject: RuleSubject,
    /// Patterns of the arguments; `None` means any arguments.
    pub arguments: Option<BTreeMap<String, ArgumentPattern>>,
    pub verdict: PermissionPolicy,
    /// The reason, for people.
    pub why: String,
    /// When the rule stops to apply.
    pub expires: Option<Timestamp>,
}

/// For whom a rule holds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleScope {
    /// Until the harness ends; never stored.
    Session,
    User,
    Project,
}

/// What a rule can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleForce {
    /// It decides if it is the first that applies.
    Full,
    /// It can make a decision stricter, never laxer: its file is not trusted.
    NarrowsOnly,
    /// It fails its own tests, so it asks about everything that it might be about.
    FailsTests,
}

/// A rule and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRule {
    pub rule: PermissionRule,
    pub scope: RuleScope,
    pub file: Arc<str>,
    /// Counted from 1; 0 if it is not in a file.
    pub line: u32,
    pub force: RuleForce,
}

/// How certainly a rule applies to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleCertainty {
    Applies,
    /// The arguments cannot be read with certainty.
    MayApply,
    FailsTests,
}

/// The rule that decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct MatchedRule {
    pub scope: RuleScope,
    /// Empty if it is not in a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(default)]
    pub line: u32,
    pub why: String,
    pub certainty: RuleCertainty,
}

/// A decision of the rules of one rung.
pub(super) type RuleDecision = (PermissionPolicy, Box<MatchedRule>);

/// What the rules of one rung say about a call.
#[derive(Debug, Default)]
pub(super) struct RungDecision {
    /// The first rule that applies.
    pub(super) first: Option<RuleDecision>,
    /// The strictest demand of rules that can only narrow, or that may apply.
    pub(super) floor: Option<RuleDecision>,
}

impl RungDecision {
    fn raise_floor(&mut self, demand: RuleDecision) {
        if self.floor.as_ref().is_none_or(|(policy, _)| demand.0 > *policy) {
            self.floor = Some(demand);
        }
    }
}

impl PermissionRule {
    /// Returns the narrowest rule that allows a call: this tool with these arguments.
    pub fn narrowest(query: PermissionQuery<'_>, why: String) -> Self {
        let arguments = match query.arguments {
            Value::Object(members) => ArgumentPattern::narrowest_arguments(members, query.category),
            _ => BTreeMap::new(),
        };
        Self {
            subject: RuleSubject::Tool(TextPattern::exact(query.tool.as_str())),
            arguments: Some(arguments),
            verdict: PermissionPolicy::Allow,
            why,
            expires: None,
        }
    }

    /// Returns whether the rule applies to a call for certain, its expiry aside.
    pub fn applies(&self, query: PermissionQuery<'_>) -> bool {
        self.certainty(query) == Some(RuleCertainty::Applies)
    }

    /// Returns whether the rule has expired.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }

    fn is_about(&self, query: PermissionQuery<'_>) -> bool {
        match &self.subject {
            RuleSubject::Tool(pattern) => pattern.matches(query.tool.as_str()),
            RuleSubject::Category(category) => *category == query.category,
        }
    }

    fn certainty(&self, query: PermissionQuery<'_>) -> Option<RuleCertainty> {
        if !self.is_about(query) {
            return None;
        }
        let Some(patterns) = &self.arguments else { return Some(RuleCertainty::Applies) };
        let comparison = Comparison::of(self.verdict, query.category);
        match (comparison.arguments(patterns, query.arguments), self.verdict) {
            (Match::Whole, _) | (Match::Part, PermissionPolicy::Ask | PermissionPolicy::Deny) => {
                Some(RuleCertainty::Applies)
            }
            (Match::Possible, PermissionPolicy::Ask | PermissionPolicy::Deny) => {
                Some(RuleCertainty::MayApply)
            }
            (Match::None | Match::Possible | Match::Part, _) => None,
        }
    }
}

impl PlacedRule {
    /// Returns whether the rule belongs to the rung of tools, not to that of categories.
    const fn is_of_tools(&self) -> bool {
        matches!(self.rule.subject, RuleSubject::Tool(_))
    }

    fn matched(&self, certainty: RuleCertainty) -> Box<MatchedRule> {
        Box::new(MatchedRule {
            scope: self.scope,
            file: self.file.as_ref().to_owned(),
            line: self.line,
            why: self.rule.why.clone(),
            certainty,
        })
    }
}

/// Returns what the rules for tools, or those for categories, say about a call.
pub(super) fn decide_rung(
    rules: &[PlacedRule],
    of_tools: bool,
    query: PermissionQuery<'_>,
    now: Timestamp,
) -> RungDecision {
    let mut decision = RungDecision::default();
    let in_force =
        rules.iter().filter(|rule| rule.is_of_tools() == of_tools && !rule.rule.is_expired(now));
    for placed in in_force {
        let rule = &placed.rule;
        if placed.force == RuleForce::FailsTests {
            if rule.is_about(query) {
                let matched = placed.matched(RuleCertainty::FailsTests);
                decision.raise_floor((PermissionPolicy::Ask, matched));
            }
            continue;
        }
        let Some(certainty) = rule.certainty(query) else { continue };
        let matched = || placed.matched(certainty);
        match (placed.force, certainty) {
            (RuleForce::NarrowsOnly, RuleCertainty::Applies) => {
                decision.raise_floor((rule.verdict, matched()));
            }
            (_, RuleCertainty::Applies) => {
                if decision.first.is_none() {
                    decision.first = Some((rule.verdict, matched()));
                }
            }
            // A rule behind the one that decides has no say, unless it can only narrow.
            (RuleForce::Full, _) if decision.first.is_some() => {}
            _ => decision.raise_floor((PermissionPolicy::Ask, matched())),
        }
    }
    decision
}

/// Returns the stricter of a decision and a demand of a rung. A demand is named rather than
/// that no rule applies.
pub(super) fn narrow(
    decision: (PermissionPolicy, PermissionSource),
    floor: Option<RuleDecision>,
    source: fn(Box<MatchedRule>) -> PermissionSource,
) -> (PermissionPolicy, PermissionSource) {
    match floor {
        Some((policy, rule))
            if policy > decision.0
                || (policy == decision.0 && decision.1 == PermissionSource::Default) =>
        {
            (policy, source(rule))
        }
        _ => decision,
    }
}

impl RuleScope {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl fmt::Display for MatchedRule {
    /// `rule at permissions.toml:12: pushing is for people`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file.is_empty() {
            f.write_str("rule of this session")?;
        } else {
            write!(f, "rule at {}:{}", self.file, self.line)?;
        }
        f.write_str(match self.certainty {
            RuleCertainty::Applies => "",
            RuleCertainty::MayApply => ", which may apply",
            RuleCertainty::FailsTests => ", which fails its own tests",
        })?;
        write!(f, ": {}", self.why)
    }
}

#[cfg(test)]
mod tests;
