//! The values of a workflow: its input and the outputs of its steps. Outputs
//! are texts; templates see JSON objects and lists as values.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::ValueKind;
use ostler_domain::tool::Trust;
use ostler_domain::workflow::{Condition, StepName, Task, Template, Values, WorkflowDefinition};

use super::template;

/// The output of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepOutput {
    pub(super) text: String,
    /// Whether untrusted content was read for it. Untrusted output makes all
    /// later steps untrusted.
    pub(super) trust: Trust,
    value: Value,
}

impl StepOutput {
    pub(super) fn new(text: String, trust: Trust) -> Self {
        Self { value: parse_value(&text), text, trust }
    }
}

/// Returns the value of a JSON object or list, and any other text as it is: a
/// number that a person or a tool wrote may be the number of an order.
fn parse_value(text: &str) -> Value {
    let value = text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok());
    value.flatten().unwrap_or_else(|| Value::from(text))
}

/// The input and outputs of a workflow.
#[derive(Debug)]
pub(super) struct WorkflowData {
    pub(super) input: Value,
    /// Whether the input holds untrusted content of a workflow above.
    pub(super) input_trust: Trust,
    pub(super) results: BTreeMap<Task, StepOutput>,
    /// The lists of steps, which do not change once their step has begun.
    pub(super) lists: Mutex<BTreeMap<StepName, Vec<Value>>>,
}

impl WorkflowData {
    /// Returns whether the input or any output is untrusted.
    pub(super) fn trust(&self) -> Trust {
        self.results
            .values()
            .fold(self.input_trust, |trust, output| trust.after_reading(output.trust))
    }

    /// Returns these values for the templates of a definition.
    pub(super) const fn view<'k>(&'k self, definition: &'k WorkflowDefinition) -> TemplateView<'k> {
        TemplateView { data: self, definition }
    }
}

/// The values as seen by the templates of a definition.
#[derive(Debug, Clone, Copy)]
pub(super) struct TemplateView<'k> {
    data: &'k WorkflowData,
    definition: &'k WorkflowDefinition,
}

impl TemplateView<'_> {
    /// Returns the variables of a task for some texts: `input`, `steps` with those that the
    /// texts name, and where they are defined `item`, `index` and `last`.
    pub(super) fn context(&self, task: &Task, texts: &[&str]) -> Result<Value, String> {
        let steps = self.steps(task, texts);
        let mut variables = vec![("input", self.data.input.clone()), ("steps", steps)];
        if let Some(step) = self.definition.step(&task.step).filter(|_| !task.undo) {
            if let (Some(each), Some(index)) = (&step.each, task.item) {
                let item = self.item(&each.list, &task.step, index as usize)?;
                variables.extend(item.map(|item| ("item", item)));
                variables.push(("index", Value::from(index)));
            }
            if step.repeat.is_some() {
                variables.push(("last", self.output(task)));
            }
        }
        Ok(Value::from_pairs(variables))
    }

    /// Returns the results of the steps that end before a task, and for the undo
    /// work of a step that of the step itself; of those only the ones that the texts name.
    /// So the work for a step does not grow with the steps before it.
    fn steps(&self, task: &Task, texts: &[&str]) -> Value {
        if !texts.iter().any(|text| text.contains("steps")) {
            return Value::from_pairs(std::iter::empty::<(&str, Value)>());
        }
        let own = task.undo.then_some(&task.step);
        let steps = self.definition.predecessors(&task.step).into_iter().chain(own);
        let named = steps.filter(|id| texts.iter().any(|text| text.contains(id.as_str())));
        Value::from_pairs(
            named.map(|id| {
                (id.as_str().to_owned(), Value::from_pairs([("result", self.result(id))]))
            }),
        )
    }

    /// Returns the result of a step: a list for a step with items, and an empty
    /// text for a skipped step.
    fn result(&self, id: &StepName) -> Value {
        if self.definition.step(id).is_none_or(|step| step.each.is_none()) {
            return self.output(&Task::new(id.clone()));
        }
        let parts = self.data.results.range(Task::new(id.clone())..);
        let parts = parts.take_while(|(task, _)| task.step == *id);
        parts.filter(|(task, _)| !task.undo).map(|(_, output)| output.value.clone()).collect()
    }

    /// Returns the result of the whole workflow: that of its last step, or those of its last
    /// steps by name.
    pub(super) fn outcome(&self) -> String {
        let last: Vec<&StepName> = self.definition.final_steps().collect();
        let value = match last[..] {
            [only] => self.result(only),
            _ => Value::from_pairs(last.iter().map(|id| (id.as_str().to_owned(), self.result(id)))),
        };
        match value.as_str() {
            Some(text) => text.to_owned(),
            None => serde_json::to_string(&value).unwrap_or_default(),
        }
    }

    fn output(&self, task: &Task) -> Value {
        self.data.results.get(task).map_or_else(|| Value::from(""), |output| output.value.clone())
    }

    /// Returns an item of the list of a step. The list is evaluated once.
    fn item(
        &self,
        template: &Template,
        step: &StepName,
        index: usize,
    ) -> Result<Option<Value>, String> {
        let mut lists = self.data.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if !lists.contains_key(step) {
            lists.insert(step.clone(), self.list(template, &Task::new(step.clone()))?);
        }
        Ok(lists.get(step).and_then(|list| list.get(index).cloned()))
    }

    fn list(&self, template: &Template, task: &Task) -> Result<Vec<Value>, String> {
        let value = template::evaluate(template, &self.context(task, &[template.as_str()])?)?;
        let value = value.as_str().map_or_else(|| value.clone(), parse_value);
        match value.kind() {
            ValueKind::Seq | ValueKind::Iterable => {
                Ok(value.try_iter().map_err(|error| error.to_string())?.collect())
            }
            _ => Err(format!(
                "`{}` is not a list; use JSON such as [\"a\", \"b\"]",
                template.as_str()
            )),
        }
    }
}

impl Values for TemplateView<'_> {
    fn holds(&self, condition: &Condition, task: &Task) -> Result<bool, String> {
        template::holds(condition, &self.context(task, &[condition.as_str()])?)
    }

    fn count(&self, list: &Template, task: &Task) -> Result<usize, String> {
        self.list(list, task).map(|list| list.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use ostler_domain::tool::Trust;
    use ostler_domain::workflow::{Condition, Task, Template, Values, WorkflowDefinition};
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::{StepOutput, WorkflowData};
    use crate::workflow::template;

    fn definition() -> WorkflowDefinition {
        let whole = json!({
            "name": "test",
            "inputs": ["order"],
            "step": [
                {"id": "look", "value": "", "undo": {"value": ""}},
                {"id": "say-it", "value": "", "after": ["look"]},
                {"id": "skipped", "value": "", "after": ["look"]},
                {"id": "each", "after": ["say-it", "skipped"], "for_each": "{{ steps.look.result.lines }}",
                 "value": "", "repeat": {"max": 2, "until": "true"}},
                {"id": "end", "value": "", "after": ["each"]},
            ],
        });
        serde_json::from_value(whole).unwrap()
    }

    fn task(text: &str) -> Task {
        text.parse().unwrap()
    }

    fn data() -> WorkflowData {
        let output = |text: &str| StepOutput::new(text.into(), Trust::Trusted);
        let lines = r#"{"total": 9, "paid": true, "lines": [{"name": "a"}, {"name": "b"}]}"#;
        WorkflowData {
            input_trust: Trust::Trusted,
            input: serde_json::from_value(json!({"order": {"number": 12, "name": "<x>"}})).unwrap(),
            results: BTreeMap::from([
                (task("look"), output(lines)),
                (task("say-it"), output("Yes: 0012")),
                (task("each/1"), output("[1]")),
                (task("each/0"), output("007")),
            ]),
            lists: Mutex::default(),
        }
    }

    fn text<T: DeserializeOwned>(text: &str) -> T {
        serde_json::from_value(json!(text)).unwrap()
    }

    #[test]
    fn templates_are_rendered() {
        let (definition, data) = (definition(), data());
        let view = data.view(&definition);
        let render = |template: &str, at: &str| {
            let context = view.context(&task(at), &[template]).unwrap();
            template::render(&text::<Template>(template), &context)
        };
        let check = |template: &str, at: &str, expected: &str| {
            assert_eq!(render(template, at).as_deref(), Ok(expected), "{template}");
        };
        check("{{input.order.number}} of {{ steps.look.result.total }}\n", "end", "12 of 9\n");
        check("{{ input.order.name }} {{ steps.look.result.paid }}", "end", "<x> true");
        check("{{ steps.each.result }}", "end", r#"["007",[1]]"#);
        check("{{ steps.each.result[1][0] }}", "end", "1");
        check("{{ steps[\"say-it\"].result }}!", "end", "Yes: 0012!");
        check("<{{ steps.skipped.result }}>", "end", "<>");
        check("{{ index }}: {{ item.name }} after {{ last }}", "each/0", "0: a after 007");
        check("{{ index }}: {{ item.name }}", "each/1", "1: b");
        check("{{ steps.look.result.total }}", "look!undo", "9");
        check("{{ steps.look.result.nothing | default('-') }}", "end", "-");
        let fails = |template: &str, at: &str, expected: &str| {
            let error = render(template, at).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        fails("{{ steps.look.result.nothing }}", "end", "undefined value");
        fails("{{ steps.end.result[:2] }}", "each/0", "undefined value");
        fails("{{ steps['say-it'].result.name }}", "end", "undefined value");
        let endless =
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
        fails(endless, "end", "fuel");
        let long = "{% for a in range(9999) %}{{ 'long' * 999 }}{% endfor %}";
        fails(long, "end", "longer than 8388608 bytes");
    }

    #[test]
    fn conditions_lists_and_arguments_keep_types() {
        let (definition, data) = (definition(), data());
        let view = data.view(&definition);
        let holds = |condition: &str| view.holds(&text::<Condition>(condition), &task("end"));
        assert_eq!(holds("'yes' in steps['say-it'].result | lower"), Ok(true));
        assert_eq!(holds("steps.look.result.total > 9"), Ok(false));
        assert_eq!(holds("steps.look.result.paid and not steps.skipped.result"), Ok(true));
        assert!(holds("steps.look.result.nothing").unwrap_err().contains("undefined value"));
        let count = |list: &str| view.count(&text::<Template>(list), &task("each"));
        assert_eq!(count("{{ steps.look.result.lines }}"), Ok(2));
        assert_eq!(count("{{ steps.look.result.lines | map(attribute='name') }}"), Ok(2));
        assert_eq!(count("[1, 2, 3]"), Ok(3));
        assert_eq!(count("[{{ input.order.number }}, 2]"), Ok(2));
        assert!(count("{{ steps.look.result.total }}").unwrap_err().contains("is not a list"));
        let context = view.context(&task("end"), &["steps.look, steps.each"]).unwrap();
        let written = json!({
            "number": "{{ steps.look.result.total }}", "list": ["{{ steps.look.result.lines[0] }}"],
            "text": "{{ steps.look.result.total }} EUR", "answer": "{{ steps.each.result[0] }}",
            "two": "{{ input.order.number }}{{ input.order.number }}", "flag": true,
        });
        let argument = serde_json::from_value(written).unwrap();
        let expected = json!({
            "number": 9, "list": [{"name": "a"}], "text": "9 EUR", "answer": "007", "two": "1212",
            "flag": true,
        });
        assert_eq!(template::argument(&argument, &context), Ok(expected));
    }
}
