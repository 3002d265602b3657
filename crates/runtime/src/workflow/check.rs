//! Checks the templates and conditions of a definition before it starts: their
//! syntax, and that every variable has a value when its step runs.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

use ostler_domain::workflow::{Step, StepName, StepWork, Template, WorkflowDefinition};

use super::template::{condition_variables, template_variables};

/// Stands for the name in `steps["NAME"]` and `input["NAME"]`.
const SUBSCRIPT: &str = "__subscript_";

/// Why a template or a condition of a workflow is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    #[error("`{step}`: {reason}")]
    Invalid { step: StepName, reason: String },
    #[error("`{step}` uses the result of `{of}` and does not come after it; add it to `after`")]
    NotAPredecessor { step: StepName, of: String },
    #[error("`{step}` uses input.{name}; add `{name}` to the workflow's `inputs`")]
    UnknownInput { step: StepName, name: String },
    #[error("`{step}` uses `{what}`, which only a step with `{with}` has")]
    Unavailable { step: StepName, what: &'static str, with: &'static str },
    #[error(
        "`{step}` uses `{name}`, which is not defined; use input.NAME, steps.STEP.result, \
         steps[\"STEP\"].result, item, index or last"
    )]
    Undefined { step: StepName, name: String },
}

/// Checks all templates and conditions of a definition.
///
/// A slice such as `steps.a.result[:9]` hides its variables from this check: there,
/// an undefined value is found when the step runs.
pub fn check_expressions(definition: &WorkflowDefinition) -> Result<(), ExpressionError> {
    definition.steps().iter().try_for_each(|step| check_step(definition, step))
}

fn check_step(definition: &WorkflowDefinition, step: &Step) -> Result<(), ExpressionError> {
    let scope = Scope {
        step,
        inputs: definition.inputs(),
        results: definition.predecessors(&step.id),
        item: false,
        last: false,
    };
    if let Some(when) = &step.when {
        scope.check(when.as_str(), condition_variables)?;
    }
    if let Some(each) = &step.each {
        scope.check(each.list.as_str(), template_variables)?;
    }
    let mut undo = scope.clone();
    undo.results.insert(&step.id);
    undo.check_templates(step.undo.iter().flat_map(StepWork::templates))?;
    let inner = Scope { item: step.each.is_some(), last: step.repeat.is_some(), ..scope };
    inner.check_templates(step.work.templates())?;
    if let Some(repeat) = &step.repeat {
        inner.check(repeat.until.as_str(), condition_variables)?;
    }
    Ok(())
}

/// The values that a template or condition may use.
#[derive(Clone)]
struct Scope<'d> {
    step: &'d Step,
    inputs: &'d BTreeSet<String>,
    results: BTreeSet<&'d StepName>,
    item: bool,
    last: bool,
}

impl Scope<'_> {
    fn check_templates<'t>(
        &self,
        templates: impl IntoIterator<Item = &'t Template>,
    ) -> Result<(), ExpressionError> {
        templates.into_iter().try_for_each(|text| self.check(text.as_str(), template_variables))
    }

    fn check(
        &self,
        text: &str,
        variables: impl Fn(&str) -> Result<HashSet<String>, String>,
    ) -> Result<(), ExpressionError> {
        let invalid = |reason| ExpressionError::Invalid { step: self.step.id.clone(), reason };
        variables(text).map_err(invalid)?;
        let (text, names) = name_subscripts(text);
        // In a fixed order, so that the same error is reported each time.
        let paths: BTreeSet<String> = variables(&text).map_err(invalid)?.into_iter().collect();
        paths.iter().try_for_each(|path| {
            let name = |part| {
                let number = str::strip_prefix(part, SUBSCRIPT).and_then(|rest| rest.parse().ok());
                number.and_then(|number: usize| names.get(number)).map_or(part, String::as_str)
            };
            self.check_variable(&path.split('.').map(name).collect::<Vec<_>>())
        })
    }

    fn check_variable(&self, path: &[&str]) -> Result<(), ExpressionError> {
        let step = self.step.id.clone();
        let unavailable =
            |what, with| Err(ExpressionError::Unavailable { step: step.clone(), what, with });
        match path {
            ["input", name, ..] if !self.inputs.contains(*name) => {
                Err(ExpressionError::UnknownInput { step, name: (*name).to_owned() })
            }
            ["input", ..] => Ok(()),
            ["steps", of, "result", ..] => {
                if self.results.iter().any(|known| known.as_str() == *of) {
                    return Ok(());
                }
                Err(ExpressionError::NotAPredecessor { step, of: (*of).to_owned() })
            }
            ["item", ..] if !self.item => unavailable("item", "for_each"),
            ["index"] if !self.item => unavailable("index", "for_each"),
            ["last", ..] if !self.last => unavailable("last", "repeat"),
            ["item" | "last", ..] | ["index"] => Ok(()),
            _ => Err(ExpressionError::Undefined { step, name: path.join(".") }),
        }
    }
}

/// Replaces each `steps["NAME"]` and `input["NAME"]` by an attribute, so that the
/// name is part of the variable's path. Returns the names.
fn name_subscripts(text: &str) -> (String, Vec<String>) {
    let (mut replaced, mut names, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once('[') {
        replaced.push_str(before);
        let literal = quoted(after, '"').or_else(|| quoted(after, '\''));
        rest = match literal {
            Some((name, after)) if before.ends_with("steps") || before.ends_with("input") => {
                let _ = write!(replaced, ".{SUBSCRIPT}{}", names.len());
                names.push(name.to_owned());
                after
            }
            _ => {
                replaced.push('[');
                after
            }
        };
    }
    replaced.push_str(rest);
    (replaced, names)
}

/// Splits `"NAME"] REST` into the name and the rest.
fn quoted(text: &str, quote: char) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix(quote)?.split_once(quote)?;
    Some((name, after.strip_prefix(']')?))
}

#[cfg(test)]
mod tests {
    use ostler_domain::workflow::WorkflowDefinition;
    use serde_json::{Value, json};

    use super::check_expressions;

    fn check(steps: &Value) -> Result<(), String> {
        let whole = json!({"name": "test", "inputs": ["x", "order-id"], "step": steps});
        let definition: WorkflowDefinition = serde_json::from_value(whole).unwrap();
        check_expressions(&definition).map_err(|error| error.to_string())
    }

    #[test]
    fn each_invalid_expression_has_its_error_text() {
        let refused = |step: Value, expected: &str| {
            let mut step = step;
            step["id"] = json!("a");
            let error = check(&json!([step, {"id": "b", "value": "v"}])).unwrap_err();
            assert!(error.starts_with("`a`") && error.contains(expected), "{error}");
        };
        let value = |text: &str, expected: &str| refused(json!({"value": text}), expected);
        let add_after = "uses the result of `b` and does not come after it; add it to `after`";
        value("{{ steps.b.result }}", add_after);
        value("{{ steps['b'].result }}", add_after);
        value("{% if input.x %}{{ steps.b.result.deep }}{% endif %}", add_after);
        value("{{ steps.a.result }}", "the result of `a`");
        value("{{ steps }}", "uses `steps`, which is not defined");
        value("{{ steps[input.x].result }}", "uses `steps`, which is not defined");
        value("{{ steps.b.output }}", "uses `steps.b.output`, which is not defined");
        value("{{ input.y }}", "add `y` to the workflow's `inputs`");
        value("{{ input[\"y-z\"] }}", "add `y-z` to the workflow's `inputs`");
        value("{{ item }}", "which only a step with `for_each` has");
        value("{{ index }}", "which only a step with `for_each` has");
        value("{{ last }}", "which only a step with `repeat` has");
        value("{{ now }}", "uses `now`, which is not defined");
        value("{{ input.x", "syntax error");
        value("{{ input.x | lowr }}", "unknown filter");
        value("{{ input.x.y[0].z | lowr }}", "unknown filter");
        value("{% include 'other' %}", "syntax error");
        refused(json!({"value": "", "when": "input.x =="}), "syntax error");
        refused(json!({"value": "", "when": ""}), "syntax error");
        refused(json!({"value": "", "when": "input.y == 1"}), "add `y` to");
        refused(json!({"value": "", "for_each": "[]", "when": "item"}), "`for_each`");
        refused(json!({"value": "", "repeat": {"max": 2, "until": "steps.b.result"}}), add_after);
        refused(json!({"value": "", "undo": {"value": "{{ steps.b.result }}"}}), add_after);
        refused(json!({"tool": "t", "with": {"deep": ["{{ item }}"]}}), "`for_each`");
    }

    #[test]
    fn valid_expressions_are_accepted() {
        let steps = json!([
            {"id": "book-flight", "value": "{{ input.x }} {{ input[\"order-id\"] }}",
             "undo": {"value": "{{ steps[\"book-flight\"].result.id }}"}},
            {"id": "each", "after": ["book-flight"], "value": "{{ index }} {{ item.name }}",
             "for_each": "{{ steps['book-flight'].result }}"},
            {"id": "loop", "after": ["each"], "value": "{{ last }}",
             "when": "'yes' in steps[\"book-flight\"].result | lower",
             "repeat": {"max": 2, "until": "last | length > 3 or last in ['a', 'b']"}},
            {"id": "block", "after": ["loop"],
             "value": "{% for i in range(3) %}{{ steps.each.result[i] }}{{ loop.index }}{% endfor %}"},
        ]);
        assert_eq!(check(&steps), Ok(()));
    }
}
