//! Evaluates templates and conditions with minijinja. Nothing is escaped, no
//! template can load another, and an undefined value is an error.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value,
    escape_formatter,
};
use ostler_domain::workflow::{Argument, Condition, Template};
use serde_json::Value as Json;

/// Maximum number of instructions of one evaluation.
const FUEL: u64 = 1_000_000;
/// Maximum length of a rendered text in bytes.
const MAX_OUTPUT_LEN: usize = 8 * 1024 * 1024;
/// The name of a template in error texts.
const NAME: &str = "template";

static ENVIRONMENT: LazyLock<Environment<'static>> =
    LazyLock::new(|| environment(UndefinedBehavior::Strict));

/// Evaluates without values, to find unknown filters, tests and functions.
static CHECK_ENVIRONMENT: LazyLock<Environment<'static>> =
    LazyLock::new(|| environment(UndefinedBehavior::Chainable));

fn environment(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(write_value);
    environment.set_fuel(Some(FUEL));
    if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
    environment
}

/// Writes a value: text as it is, nothing for `none`, everything else as JSON.
fn write_value(
    output: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None => Ok(()),
        ValueKind::Bool | ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => {
            let json = serde_json::to_string(value)
                .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
            Ok(output.write_str(&json)?)
        }
        _ => escape_formatter(output, state, value),
    }
}

/// A text in memory of limited length.
struct LimitedBuffer(Vec<u8>);

impl Write for LimitedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT_LEN {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Renders a template as text.
pub(super) fn render(template: &Template, context: &Value) -> Result<String, String> {
    let text = template.as_str();
    let environment: &Environment<'_> = &ENVIRONMENT;
    let mut buffer = LimitedBuffer(Vec::new());
    environment
        .template_from_named_str(NAME, text)
        .and_then(|compiled| compiled.render_captured_to(context.clone(), &mut buffer).map(drop))
        .map_err(|error| match error.kind() {
            ErrorKind::WriteFailure => format!("a text is longer than {MAX_OUTPUT_LEN} bytes"),
            _ => describe(text, &error),
        })?;
    String::from_utf8(buffer.0).map_err(|error| error.to_string())
}

/// Evaluates a template. A single expression keeps the type of its value; anything
/// else is a text.
pub(super) fn evaluate(template: &Template, context: &Value) -> Result<Value, String> {
    let text = template.as_str();
    match single_expression(text) {
        Some(expression) => evaluate_expression(expression, context),
        None => render(template, context).map(Value::from),
    }
}

/// Returns whether a condition holds.
pub(super) fn holds(condition: &Condition, context: &Value) -> Result<bool, String> {
    evaluate_expression(condition.as_str(), context).map(|value| value.is_true())
}

/// Returns an argument of a tool.
pub(super) fn argument(argument: &Argument, context: &Value) -> Result<Json, String> {
    let element = |element: &Argument| self::argument(element, context);
    Ok(match argument {
        Argument::Flag(flag) => Json::Bool(*flag),
        Argument::Number(number) => Json::from(*number),
        Argument::Text(text) => {
            let value = evaluate(text, context)?;
            serde_json::to_value(value).map_err(|error| error.to_string())?
        }
        Argument::List(list) => Json::Array(list.iter().map(element).collect::<Result<_, _>>()?),
        Argument::Table(table) => {
            let fields = table.iter().map(|(name, field)| Ok((name.clone(), element(field)?)));
            Json::Object(fields.collect::<Result<_, String>>()?)
        }
    })
}

/// Returns the variables of a template, or why it can never be evaluated.
pub(super) fn template_variables(text: &str) -> Result<HashSet<String>, String> {
    let environment: &Environment<'_> = &CHECK_ENVIRONMENT;
    let compiled =
        environment.template_from_named_str(NAME, text).map_err(|error| describe(text, &error))?;
    check_names(text, compiled.render(()).err())?;
    Ok(without_globals(compiled.undeclared_variables(true)))
}

/// Returns the variables of a condition, or why it can never be evaluated.
pub(super) fn condition_variables(text: &str) -> Result<HashSet<String>, String> {
    let environment: &Environment<'_> = &CHECK_ENVIRONMENT;
    let compiled = environment.compile_expression(text).map_err(|error| describe(text, &error))?;
    check_names(text, compiled.eval(()).err())?;
    Ok(without_globals(compiled.undeclared_variables(true)))
}

/// Fails if evaluation stopped at an unknown name. Other errors may be due to the
/// missing values.
fn check_names(text: &str, error: Option<Error>) -> Result<(), String> {
    let unknown = error.filter(|error| {
        use ErrorKind::{UnknownFilter, UnknownFunction, UnknownTest};
        matches!(error.kind(), UnknownFilter | UnknownFunction | UnknownTest)
    });
    unknown.map_or(Ok(()), |error| Err(describe(text, &error)))
}

fn without_globals(mut variables: HashSet<String>) -> HashSet<String> {
    for (name, _) in CHECK_ENVIRONMENT.globals() {
        variables.remove(name);
    }
    variables
}

fn evaluate_expression(expression: &str, context: &Value) -> Result<Value, String> {
    let environment: &Environment<'_> = &ENVIRONMENT;
    let value = environment
        .compile_expression(expression)
        .and_then(|compiled| compiled.eval(context.clone()))
        .map_err(|error| describe(expression, &error))?;
    if value.is_undefined() {
        return Err(describe(expression, &ErrorKind::UndefinedError.into()));
    }
    Ok(value)
}

/// Returns the expression if a template is `{{ EXPRESSION }}` and nothing else.
fn single_expression(text: &str) -> Option<&str> {
    let expression = text.strip_prefix("{{")?.strip_suffix("}}")?;
    // A sign next to the braces controls whitespace.
    let trims = expression.starts_with(['-', '+']) || expression.ends_with(['-', '+']);
    let compiles = || ENVIRONMENT.compile_expression_owned(expression.to_owned()).is_ok();
    (!trims && compiles()).then_some(expression)
}

fn describe(text: &str, error: &Error) -> String {
    let mut excerpt: String = text.trim().chars().take(60).collect();
    if excerpt.len() < text.trim().len() {
        excerpt.push('…');
    }
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let line = error.line().filter(|line| *line > 1);
    let line = line.map(|line| format!(" in line {line}")).unwrap_or_default();
    format!("{}{detail}{line} of `{excerpt}`", error.kind())
}
