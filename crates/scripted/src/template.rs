//! Templates in texts and arguments, written in Jinja: `{{ user }}` or `{{ order }}`.

use std::cell::OnceCell;
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, Expression, UndefinedBehavior, Value};
use serde_json::Value as Json;

use super::error::suggest;
use super::request::Situation;

/// The variables of every rule.
const BUILT_IN: [&str; 3] = ["user", "result", "step"];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    if let Ok(syntax) = syntax.keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
    environment
});

/// The values of variables.
#[derive(Debug)]
pub(super) struct Values<'s> {
    /// The named groups that the patterns of a rule captured.
    pub(super) groups: Vec<(&'s str, &'s str)>,
    pub(super) result: &'s str,
    user: &'s str,
    step: u64,
    context: OnceCell<Value>,
}

impl<'s> Values<'s> {
    /// Returns the built-in values. `result` is the first result.
    pub(super) fn new(situation: &'s Situation<'_>) -> Self {
        let result = situation.results.iter().next();
        Self {
            groups: Vec::new(),
            user: &situation.user,
            result: result.map_or("", |(_, result)| &result.outcome.content),
            step: situation.step,
            context: OnceCell::new(),
        }
    }

    fn context(&self) -> &Value {
        self.context.get_or_init(|| {
            let built_in: [Value; 3] = [self.user.into(), self.result.into(), self.step.into()];
            // Of two groups with the same name, the first counts.
            let groups = self.groups.iter().rev().map(|(name, text)| (*name, Value::from(*text)));
            Value::from_pairs(BUILT_IN.into_iter().zip(built_in).chain(groups))
        })
    }
}

/// A text that may have variables.
#[derive(Debug)]
pub(super) enum Template {
    Plain(String),
    /// A single expression, which keeps its type in arguments.
    Expression(Box<Expression<'static, 'static>>),
    /// An environment with this template only, which owns it.
    Text(Box<Environment<'static>>),
}

impl Template {
    /// Compiles a text. `groups` are the names of the captured groups. The error says
    /// what is wrong with the template.
    pub(super) fn new(text: String, groups: &[&str]) -> Result<Self, String> {
        if !["{{", "{%", "{#"].iter().any(|start| text.contains(start)) {
            return Ok(Self::Plain(text));
        }
        let invalid = |error: Error| {
            format!("invalid template: {}", error.detail().unwrap_or("it cannot be parsed"))
        };
        let (template, variables) = match single_expression(&text) {
            Some(expression) => {
                let expression = ENVIRONMENT.compile_expression_owned(expression.to_owned());
                let expression = expression.map_err(invalid)?;
                let variables = expression.undeclared_variables(false);
                (Self::Expression(Box::new(expression)), variables)
            }
            None => {
                let mut environment = Box::new(ENVIRONMENT.clone());
                environment.add_template_owned("", text).map_err(invalid)?;
                let variables = environment.get_template("").map_err(invalid)?;
                let variables = variables.undeclared_variables(false);
                (Self::Text(environment), variables)
            }
        };
        let known: Vec<&str> = groups.iter().copied().chain(BUILT_IN).collect();
        let is_known = |name: &str| {
            known.contains(&name) || ENVIRONMENT.globals().any(|(global, _)| global == name)
        };
        match variables.iter().filter(|name| !is_known(name)).min() {
            Some(name) => Err(format!("unknown variable `{name}`; {}", suggest(name, &known))),
            None => Ok(template),
        }
    }

    /// Fills the variables; groups that were not captured are empty.
    pub(super) fn fill(&self, values: &Values<'_>) -> Result<String, Error> {
        match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Expression(expression) => Ok(expression.eval(values.context())?.to_string()),
            Self::Text(environment) => environment.get_template("")?.render(values.context()),
        }
    }
}

/// Returns the expression of a text that consists of one only.
fn single_expression(text: &str) -> Option<&str> {
    let expression = text.strip_prefix("{{")?.strip_suffix("}}")?;
    let trims_whitespace = expression.starts_with(['-', '+']) || expression.ends_with(['-', '+']);
    (!trims_whitespace && !expression.contains("}}")).then_some(expression)
}

/// A JSON value whose texts may have variables.
#[derive(Debug)]
pub(super) enum JsonTemplate {
    /// A value without texts.
    Plain(Json),
    Text(Template),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl JsonTemplate {
    pub(super) fn new(value: Json, groups: &[&str]) -> Result<Self, String> {
        Ok(match value {
            Json::String(text) => Self::Text(Template::new(text, groups)?),
            Json::Array(items) => {
                let items = items.into_iter().map(|item| Self::new(item, groups));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Json::Object(members) => {
                let member = |(name, value)| Ok((name, Self::new(value, groups)?));
                Self::Map(members.into_iter().map(member).collect::<Result<_, String>>()?)
            }
            plain => Self::Plain(plain),
        })
    }

    pub(super) fn fill(&self, values: &Values<'_>) -> Result<Json, Error> {
        match self {
            Self::Plain(value) => Ok(value.clone()),
            Self::Text(Template::Expression(expression)) => {
                let value = expression.eval(values.context())?;
                Ok(serde_json::to_value(value).unwrap_or_default())
            }
            Self::Text(template) => template.fill(values).map(Json::String),
            Self::List(items) => items.iter().map(|item| item.fill(values)).collect(),
            Self::Map(members) => members
                .iter()
                .map(|(name, member)| Ok((name.clone(), member.fill(values)?)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonTemplate, Template, Values};
    use serde_json::{Value as Json, json};

    const GROUPS: [&str; 2] = ["order", "missing"];

    fn values() -> Values<'static> {
        Values {
            groups: vec![("order", "42"), ("missing", "")],
            user: "hi",
            result: "sent",
            step: 2,
            context: std::cell::OnceCell::new(),
        }
    }

    #[test]
    fn variables_are_filled() {
        let check = |text: &str, expected: &str| {
            let template = Template::new(text.to_owned(), &GROUPS).expect(text);
            assert_eq!(template.fill(&values()).expect(text), expected);
        };
        check("", "");
        check("Hello", "Hello");
        check("{{ order }}", "42");
        check("{{ order }}: '{{ missing }}'", "42: ''");
        check("{{ user }}, {{ result }} in step {{ step }}\n", "hi, sent in step 2\n");
        check("{{ '{{' }}order}} costs $5, { and } stay", "{{order}} costs $5, { and } stay");
        check(r#"{"a":{"b":"{{ order }}"}}"#, r#"{"a":{"b":"42"}}"#);
        check("{% if missing %}a{% else %}ß<{{ order }}>{% endif %}", "ß<42>");
        check("{{- order -}} !", "42!");
    }

    #[test]
    fn an_expression_keeps_its_type_in_arguments() {
        let check = |value: Json, expected: Json| {
            let template = JsonTemplate::new(value, &GROUPS).expect("a template");
            assert_eq!(template.fill(&values()).expect("a value"), expected);
        };
        check(json!("{{ order }}"), json!("42"));
        check(json!("{{ order | int }}"), json!(42));
        check(
            json!({"a": ["{{ step > 1 }}", "{{ order }} of 50", 1, null]}),
            json!({"a": [true, "42 of 50", 1, null]}),
        );
    }

    #[test]
    fn an_invalid_template_is_an_error() {
        let check = |text: &str, expected: &str| {
            let error = Template::new(text.to_owned(), &GROUPS).expect_err(text);
            assert_eq!(error, expected);
        };
        check("{{ ordr }}", "unknown variable `ordr`; did you mean `order`?");
        check(
            "It is {{ zzz }}",
            "unknown variable `zzz`; there are: order, missing, user, result, step",
        );
        check(
            "{{ user",
            "invalid template: unexpected end of input, expected end of variable block",
        );
        check("{{ }}", "invalid template: unexpected end of input, expected expression");
    }
}
