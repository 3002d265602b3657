//! Texts with holes: `$1` is the first group that a rule's patterns captured,
//! `{name}` one with a name, or something that every rule knows.

use serde_json::{Map, Number, Value};

use super::asked::Situation;
use super::error::unknown;

/// What fills the holes.
#[derive(Debug)]
pub(super) struct Values<'s> {
    /// What the patterns of a rule captured.
    pub(super) groups: Vec<Option<&'s str>>,
    pub(super) user: &'s str,
    pub(super) result: Option<&'s str>,
    pub(super) step: u64,
}

impl<'s> Values<'s> {
    /// What is known whatever a rule captures. `{result}` is the first result.
    pub(super) fn new(situation: &'s Situation<'_>) -> Self {
        let result = situation.results.iter().next();
        Self {
            groups: Vec::new(),
            user: &situation.user,
            result: result.map(|(_, result)| result.outcome.content.as_str()),
            step: situation.step,
        }
    }
}

/// The names of the groups that a rule captures, in order.
#[derive(Debug, Default)]
pub(super) struct Groups(pub(super) Vec<Option<String>>);

const KNOWN: [(&str, Hole); 3] =
    [("user", Hole::User), ("result", Hole::Result), ("step", Hole::Step)];

/// What is to be put into a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    /// A group, from 0.
    Group(usize),
    User,
    Result,
    Step,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Hole(Hole),
}

/// A text with holes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

impl Template {
    /// Reads a text, and says what is wrong with its holes.
    pub(super) fn new(text: &str, groups: &Groups) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        let mut said = String::new();
        while let Some(at) = rest.find(['$', '{']) {
            said.push_str(&rest[..at]);
            rest = &rest[at..];
            let (taken, hole) = match next(rest) {
                Next::Literal { taken, text } => {
                    said.push_str(text);
                    (taken, None)
                }
                Next::Number { taken, number } => (taken, Some(groups.numbered(number)?)),
                Next::Name { taken, name } => (taken, Some(groups.named(name)?)),
            };
            if let Some(hole) = hole {
                if !said.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut said)));
                }
                parts.push(Part::Hole(hole));
            }
            rest = &rest[taken..];
        }
        said.push_str(rest);
        if !said.is_empty() {
            parts.push(Part::Text(said));
        }
        Ok(Self(parts))
    }

    /// The text with its holes filled; what was not captured is empty.
    pub(super) fn fill(&self, values: &Values<'_>) -> String {
        match self.0.as_slice() {
            [Part::Text(text)] => text.clone(),
            parts => parts.iter().fold(String::new(), |mut filled, part| {
                match part {
                    Part::Text(text) => filled.push_str(text),
                    Part::Hole(hole) => hole.fill(values, &mut filled),
                }
                filled
            }),
        }
    }
}

/// What begins at a `$` or a `{`.
enum Next<'t> {
    Literal { taken: usize, text: &'t str },
    Number { taken: usize, number: &'t str },
    Name { taken: usize, name: &'t str },
}

fn next(text: &str) -> Next<'_> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(after) = text.strip_prefix("$$")
        && digits(after) > 0
    {
        return Next::Literal { taken: 2, text: "$" };
    }
    if let Some(after) = text.strip_prefix('$') {
        let count = digits(after);
        if count > 0 {
            return Next::Number { taken: count + 1, number: &after[..count] };
        }
    }
    if let Some(name) = text.strip_prefix("{{").and_then(|text| name_before(text, "}}")) {
        return Next::Literal { taken: name.len() + 4, text: &text[1..name.len() + 3] };
    }
    if let Some(name) = text.strip_prefix('{').and_then(|text| name_before(text, "}")) {
        return Next::Name { taken: name.len() + 2, name };
    }
    Next::Literal { taken: 1, text: &text[..1] }
}

/// A name, if it is followed by this.
fn name_before<'t>(text: &'t str, end: &str) -> Option<&'t str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = text.bytes().take_while(|byte| is_part(byte)).count();
    let name = &text[..length];
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    (is_name && text[length..].starts_with(end)).then_some(name)
}

impl Groups {
    fn numbered(&self, number: &str) -> Result<Hole, String> {
        let captured = self.0.len();
        match number.parse::<usize>() {
            Ok(group) if (1..=captured).contains(&group) => Ok(Hole::Group(group - 1)),
            _ => Err(format!(
                "`${number}` is not captured: the patterns of this rule have {captured} groups; \
                 write `$${number}` for a dollar sign"
            )),
        }
    }

    fn named(&self, name: &str) -> Result<Hole, String> {
        let group = self.0.iter().position(|group| group.as_deref() == Some(name));
        let known = KNOWN.iter().find(|(known, _)| *known == name).map(|(_, hole)| *hole);
        group.map(Hole::Group).or(known).ok_or_else(|| {
            let captured = self.0.iter().flatten().map(String::as_str);
            let all: Vec<&str> = captured.chain(KNOWN.iter().map(|(known, _)| *known)).collect();
            let hint = unknown(name, &all);
            format!("`{{{name}}}` is not captured; {hint}; write `{{{{{name}}}}}` for braces")
        })
    }
}

impl Hole {
    fn fill(self, values: &Values<'_>, text: &mut String) {
        match self {
            Self::Group(group) => {
                text.push_str(values.groups.get(group).copied().flatten().unwrap_or_default());
            }
            Self::User => text.push_str(values.user),
            Self::Result => text.push_str(values.result.unwrap_or_default()),
            Self::Step => text.push_str(&values.step.to_string()),
        }
    }
}

/// A JSON value with holes in its texts.
#[derive(Debug)]
pub(super) enum JsonTemplate {
    /// Without holes.
    Plain(Value),
    Text(Template),
    /// A number, if what fills it is one.
    Number(Template),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl JsonTemplate {
    pub(super) fn fill(&self, values: &Values<'_>) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => Value::String(template.fill(values)),
            Self::Number(template) => {
                let text = template.fill(values);
                let number = text.trim().parse::<Number>();
                number.map_or_else(|_| Value::String(text), Value::Number)
            }
            Self::List(items) => items.iter().map(|item| item.fill(values)).collect(),
            Self::Map(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, member)| (name.clone(), member.fill(values)))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Groups, Template, Values};

    fn filled(text: &str) -> Result<String, String> {
        let groups = Groups(vec![Some("order".into()), None]);
        let values =
            Values { groups: vec![Some("42"), None], user: "hi", result: Some("sent"), step: 2 };
        Template::new(text, &groups).map(|template| template.fill(&values))
    }

    #[test]
    fn holes_are_filled() {
        let check = |text, expected: &str| assert_eq!(filled(text).as_deref(), Ok(expected));
        check("", "");
        check("Hello", "Hello");
        check("{order}: $1", "42: 42");
        check("nothing: '$2'", "nothing: ''");
        check("{user}, {result} in step {step}", "hi, sent in step 2");
        check(
            "{{order}} is {order}, $$5 is a price, $ and { stay",
            "{order} is 42, $5 is a price, $ and { stay",
        );
        check(r#"{"a":{"b":"{order}"}}"#, r#"{"a":{"b":"42"}}"#);
        check("ß{order}ß$1ß", "ß42ß42ß");
    }

    #[test]
    fn a_hole_that_nothing_fills_is_an_error() {
        let check = |text, expected: &str| assert_eq!(filled(text), Err(expected.to_owned()));
        check(
            "It costs $5",
            "`$5` is not captured: the patterns of this rule have 2 groups; write `$$5` for a dollar sign",
        );
        check(
            "{ordr}",
            "`{ordr}` is not captured; did you mean `order`?; write `{{ordr}}` for braces",
        );
        check(
            "{zzz}",
            "`{zzz}` is not captured; there are: order, user, result, step; write `{{zzz}}` for braces",
        );
    }
}
