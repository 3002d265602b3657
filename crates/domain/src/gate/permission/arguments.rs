//! Patterns over the arguments of a call. A pattern has the shape of the arguments, with
//! text patterns in the place of text.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::PermissionPolicy;
use super::command::match_command;
use super::text::{TextPattern, TextPatternError, is_indirect_path};
use crate::tool::ToolCategory;

/// A pattern over a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentPattern {
    /// `**`: any value, or none.
    Anything,
    Text(TextPattern),
    Bool(bool),
    Number(Number),
    /// A list of the same length.
    List(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

/// A value that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentPatternError {
    #[error(transparent)]
    Text(#[from] TextPatternError),
    #[error("`null` is not a pattern; leave the argument out")]
    Null,
}

/// How certainly a call matches, from the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    None,
    /// It cannot be told.
    Possible,
    /// A part of a command matches.
    Part,
    Whole,
}

/// How a value is compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    /// Whether arguments that the pattern does not name prevent a match.
    closed: bool,
    /// Whether text is a command line.
    commands: bool,
}

impl Comparison {
    /// A rule that allows applies only if it names every argument. Text of tools that run
    /// commands, or that an MCP server may run, is a command.
    pub(super) fn of(verdict: PermissionPolicy, category: ToolCategory) -> Self {
        Self {
            closed: verdict == PermissionPolicy::Allow,
            commands: matches!(category, ToolCategory::Execute | ToolCategory::Mcp),
        }
    }

    pub(super) fn arguments(
        self,
        patterns: &BTreeMap<String, ArgumentPattern>,
        arguments: &Value,
    ) -> Match {
        match arguments {
            Value::Object(members) => self.members(patterns, members),
            Value::Null => self.members(patterns, &Map::new()),
            _ => Match::Possible,
        }
    }

    fn members(
        self,
        patterns: &BTreeMap<String, ArgumentPattern>,
        members: &Map<String, Value>,
    ) -> Match {
        let has_more =
            members.iter().any(|(name, value)| !value.is_null() && !patterns.contains_key(name));
        if self.closed && has_more {
            return Match::None;
        }
        let matches = patterns.iter().map(|(name, pattern)| {
            self.value(pattern, members.get(name).filter(|value| !value.is_null()))
        });
        matches.min().unwrap_or(Match::Whole)
    }

    fn value(self, pattern: &ArgumentPattern, value: Option<&Value>) -> Match {
        let certain = |matches: bool| if matches { Match::Whole } else { Match::None };
        match (pattern, value) {
            (ArgumentPattern::Anything, _) => Match::Whole,
            (_, None) => Match::None,
            (ArgumentPattern::Text(pattern), Some(Value::String(text))) => self.text(pattern, text),
            (ArgumentPattern::Bool(expected), Some(Value::Bool(found))) => {
                certain(expected == found)
            }
            (ArgumentPattern::Number(expected), Some(Value::Number(found))) => {
                certain(expected == found)
            }
            (ArgumentPattern::List(expected), Some(Value::Array(found))) => {
                if expected.len() != found.len() {
                    return Match::None;
                }
                let pairs = expected.iter().zip(found);
                let matches = pairs.map(|(pattern, value)| self.value(pattern, Some(value)));
                matches.min().unwrap_or(Match::Whole)
            }
            (ArgumentPattern::Object(expected), Some(Value::Object(found))) => {
                self.members(expected, found)
            }
            // Another kind of value than the rule expects.
            (_, Some(_)) => Match::Possible,
        }
    }

    fn text(self, pattern: &TextPattern, text: &str) -> Match {
        if self.commands {
            return match_command(pattern, text);
        }
        match (pattern.matches(text), is_indirect_path(text)) {
            (true, true) if pattern.has_wildcard() => Match::Possible,
            (true, _) => Match::Whole,
            (false, true) => Match::Possible,
            (false, false) => Match::None,
        }
    }
}

impl ArgumentPattern {
    /// Parses the patterns of arguments.
    pub fn parse_arguments(
        arguments: &Map<String, Value>,
    ) -> Result<BTreeMap<String, Self>, ArgumentPatternError> {
        arguments.iter().map(|(name, value)| Ok((name.clone(), Self::parse(value)?))).collect()
    }

    fn parse(value: &Value) -> Result<Self, ArgumentPatternError> {
        Ok(match value {
            Value::Null => return Err(ArgumentPatternError::Null),
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => {
                let pattern = TextPattern::parse(text)?;
                if pattern.is_anything() { Self::Anything } else { Self::Text(pattern) }
            }
            Value::Array(items) => {
                Self::List(items.iter().map(Self::parse).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => Self::Object(Self::parse_arguments(members)?),
        })
    }

    /// Returns the pattern in the form in which it is parsed.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Anything => "**".into(),
            Self::Text(pattern) => pattern.as_str().into(),
            Self::Bool(flag) => (*flag).into(),
            Self::Number(number) => Value::Number(number.clone()),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(members) => arguments_to_value(members),
        }
    }

    /// Returns a pattern that this value matches, and as little else as is useful. Long texts
    /// outside commands may be any text.
    pub(super) fn narrowest(value: &Value, category: ToolCategory) -> Self {
        let is_long = |text: &str| text.len() > LONG_TEXT || text.contains('\n');
        match value {
            Value::Null => Self::Anything,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => match category {
                ToolCategory::Read | ToolCategory::Edit | ToolCategory::Other if is_long(text) => {
                    Self::Anything
                }
                _ => Self::Text(TextPattern::exact(text)),
            },
            Value::Array(items) => {
                Self::List(items.iter().map(|item| Self::narrowest(item, category)).collect())
            }
            Value::Object(members) => Self::Object(Self::narrowest_arguments(members, category)),
        }
    }

    pub(super) fn narrowest_arguments(
        arguments: &Map<String, Value>,
        category: ToolCategory,
    ) -> BTreeMap<String, Self> {
        let present = arguments.iter().filter(|(_, value)| !value.is_null());
        present.map(|(name, value)| (name.clone(), Self::narrowest(value, category))).collect()
    }
}

/// Returns patterns of arguments in the form in which they are parsed.
pub fn arguments_to_value(patterns: &BTreeMap<String, ArgumentPattern>) -> Value {
    let members = patterns.iter().map(|(name, pattern)| (name.clone(), pattern.to_value()));
    Value::Object(members.collect())
}

/// A text longer than this, in bytes, is content rather than a name.
const LONG_TEXT: usize = 200;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Match::{self, None, Part, Possible, Whole};
    use super::{ArgumentPattern, ArgumentPatternError, Comparison, arguments_to_value};
    use crate::gate::permission::PermissionPolicy::{self, Allow, Deny};
    use crate::tool::ToolCategory::{self, Edit, Execute};

    fn check(
        verdict: PermissionPolicy,
        category: ToolCategory,
        (pattern, arguments): (Value, Value),
        expected: Match,
    ) {
        let patterns = ArgumentPattern::parse_arguments(pattern.as_object().unwrap()).unwrap();
        assert_eq!(arguments_to_value(&patterns), pattern);
        let found = Comparison::of(verdict, category).arguments(&patterns, &arguments);
        assert_eq!(found, expected, "{pattern} {arguments}");
    }

    #[test]
    fn a_rule_that_allows_names_every_argument() {
        let push = json!({"branch": "main", "force": true});
        check(Allow, Edit, (json!({"branch": "main"}), push.clone()), None);
        check(Deny, Edit, (json!({"branch": "main"}), push.clone()), Whole);
        check(Allow, Edit, (json!({"branch": "main", "force": "**"}), push), Whole);
        let null = json!({"branch": "main", "force": null});
        check(Allow, Edit, (json!({"branch": "main"}), null), Whole);
        check(Allow, Edit, (json!({}), json!({})), Whole);
        check(Allow, Edit, (json!({}), Value::Null), Whole);
        check(Allow, Edit, (json!({}), json!({"a": 1})), None);
        check(Allow, Edit, (json!({"a": "**"}), json!({})), Whole);
        check(Allow, Edit, (json!({"a": "*"}), json!({})), None);
        let nested = json!({"options": {"depth": 2, "all": true}});
        check(Allow, Edit, (json!({"options": {"depth": 2}}), nested.clone()), None);
        check(Deny, Edit, (json!({"options": {"depth": 2}}), nested), Whole);
    }

    #[test]
    fn values_are_compared_by_kind() {
        check(Allow, Edit, (json!({"n": 2}), json!({"n": 2})), Whole);
        check(Allow, Edit, (json!({"n": 2}), json!({"n": 3})), None);
        check(Deny, Edit, (json!({"n": 2}), json!({"n": "2"})), Possible);
        check(Allow, Edit, (json!({"l": ["a", "b*"]}), json!({"l": ["a", "bc"]})), Whole);
        check(Allow, Edit, (json!({"l": ["a"]}), json!({"l": ["a", "b"]})), None);
        check(Allow, Edit, (json!({"path": "src/**"}), json!({"path": "src/../x"})), Possible);
        check(Deny, Edit, (json!({"path": ".env"}), json!({"path": "./.env"})), Possible);
        check(Deny, Edit, (json!({"path": ".env"}), json!({"path": "a.env"})), None);
    }

    #[test]
    fn text_of_tools_that_run_commands_is_a_command() {
        let compound = json!({"command": "git push && ls"});
        check(Deny, Execute, (json!({"command": "git push **"}), compound.clone()), Part);
        check(Deny, ToolCategory::Mcp, (json!({"command": "git push **"}), compound.clone()), Part);
        check(Deny, Edit, (json!({"command": "git push **"}), compound), Whole);
    }

    #[test]
    fn null_is_no_pattern() {
        let error = ArgumentPattern::parse_arguments(json!({"a": null}).as_object().unwrap());
        assert_eq!(error, Err(ArgumentPatternError::Null));
    }
}
