//! What is known of a workflow: what it was started with, and what its steps
//! came to. Results are texts; one that is JSON can be looked into.

use std::collections::BTreeMap;

use ostler_domain::tool::Trust;
use ostler_domain::workflow::{Argument, Definition, Reference, StepName, Task, Template, Values};
use serde_json::Value;

/// What a task came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) text: String,
    /// Whether anything from outside was read for it.
    pub(super) trust: Trust,
}

/// What is known.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) input: Value,
    pub(super) results: BTreeMap<Task, Ran>,
}

impl Known {
    /// Whether anything in it is from outside.
    pub(super) fn trust(&self) -> Trust {
        let each = self.results.values();
        each.fold(Trust::Trusted, |all, one| all.after_reading(one.trust))
    }

    /// The same, for a definition.
    pub(super) const fn of<'k>(&'k self, definition: &'k Definition) -> Look<'k> {
        Look { known: self, definition }
    }
}

/// What is known, as the texts of a definition see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'k> {
    known: &'k Known,
    definition: &'k Definition,
}

impl Look<'_> {
    fn value(&self, of: &Reference, task: &Task) -> Option<Value> {
        match of {
            Reference::Input { path } => walk(self.known.input.clone(), path),
            Reference::Result { step, path } => walk(self.result(step)?, path),
            Reference::Item { path } => {
                let each = self.definition.step(&task.step)?.each.as_ref()?;
                let at = task.part? as usize;
                walk(self.list(&each.list, task).ok()?.into_iter().nth(at)?, path)
            }
            Reference::Index => Some(Value::from(task.part?)),
            Reference::Last { path } => {
                walk(Value::String(self.known.results.get(task)?.text.clone()), path)
            }
        }
    }

    /// What a step came to: a text, or the texts of all parts of its list.
    fn result(&self, id: &StepName) -> Option<Value> {
        let text = |ran: &Ran| Value::String(ran.text.clone());
        if self.definition.step(id)?.each.is_none() {
            return self.known.results.get(&Task::of(id.clone())).map(text);
        }
        let parts = self.known.results.iter().filter(|(task, _)| task.step == *id && !task.undo);
        Some(Value::Array(parts.map(|(_, ran)| text(ran)).collect()))
    }

    fn list(&self, template: &Template, task: &Task) -> Result<Vec<Value>, String> {
        let value = match template.only().map(|of| self.value(of, task)) {
            Some(Some(list @ Value::Array(_))) => list,
            _ => serde_json::from_str(&template.fill(self, task)).unwrap_or_default(),
        };
        match value {
            Value::Array(list) => Ok(list),
            _ => Err(format!(
                "`{}` is no list; it should be JSON such as [\"a\", \"b\"]",
                template.as_str()
            )),
        }
    }

    /// An argument of a tool.
    pub(super) fn argument(&self, argument: &Argument, task: &Task) -> Value {
        match argument {
            Argument::Flag(flag) => Value::Bool(*flag),
            Argument::Number(number) => Value::from(*number),
            Argument::Text(text) => match text.only() {
                Some(of) => self.value(of, task).unwrap_or_default(),
                None => Value::String(text.fill(self, task)),
            },
            Argument::List(list) => {
                Value::Array(list.iter().map(|one| self.argument(one, task)).collect())
            }
            Argument::Table(table) => {
                let each = table.iter();
                let each = each.map(|(name, one)| (name.clone(), self.argument(one, task)));
                Value::Object(each.collect())
            }
        }
    }
}

impl Values for Look<'_> {
    fn text(&self, of: &Reference, task: &Task) -> Option<String> {
        match self.value(of, task)? {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }

    fn count(&self, list: &Template, task: &Task) -> Result<usize, String> {
        self.list(list, task).map(|list| list.len())
    }
}

/// What is inside a value. A text on the way is read as JSON.
fn walk(mut value: Value, path: &[String]) -> Option<Value> {
    for name in path {
        if let Value::String(text) = &value {
            value = serde_json::from_str(text).ok()?;
        }
        value = match value {
            Value::Object(mut fields) => fields.remove(name)?,
            Value::Array(list) => list.into_iter().nth(name.parse().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ostler_domain::tool::Trust;
    use ostler_domain::workflow::{Definition, Task, Template, Values};
    use serde_json::{Value, json};

    use super::{Known, Ran};

    #[test]
    fn results_are_looked_into() {
        let definition: Definition = serde_json::from_value(json!({
            "name": "test",
            "inputs": ["order"],
            "step": [
                {"id": "look", "value": ""},
                {"id": "each", "after": ["look"], "for_each": "{{steps.look.result.lines}}",
                 "value": "{{index}}: {{item.name}}"},
            ],
        }))
        .unwrap();
        let task = |text: &str| text.parse::<Task>().unwrap();
        let ran = |text: &str| Ran { text: text.into(), trust: Trust::Trusted };
        let lines = r#"{"total": 9, "lines": [{"name": "a"}, {"name": "b"}]}"#;
        let known = Known {
            input: json!({"order": {"number": 12}}),
            results: BTreeMap::from([
                (task("look"), ran(lines)),
                (task("each/1"), ran("B")),
                (task("each/0"), ran("A")),
            ]),
        };
        let look = known.of(&definition);
        let check = |text: &str, at: &str, filled: &str| {
            let template = Template::try_from(text.to_owned()).unwrap();
            assert_eq!(template.fill(&look, &task(at)), filled, "{text}");
        };
        check("{{input.order.number}} of {{steps.look.result.total}}", "look", "12 of 9");
        check("{{steps.each.result}}", "look", r#"["A","B"]"#);
        check("{{steps.each.result.1}}", "look", "B");
        check("{{index}}: {{item.name}}", "each/1", "1: b");
        check("{{steps.look.result.nothing}}", "look", "");
        check("{{last}}", "each/0", "A");
        let list =
            |text: &str| look.count(&Template::try_from(text.to_owned()).unwrap(), &task("each"));
        assert_eq!(list("{{steps.look.result.lines}}"), Ok(2));
        assert_eq!(list("[1, 2, 3]"), Ok(3));
        assert!(list("{{steps.look.result.total}}").unwrap_err().contains("is no list"));
        let argument = serde_json::from_value(json!({"n": "{{steps.look.result.total}}"})).unwrap();
        assert_eq!(look.argument(&argument, &task("look")), json!({"n": 9}));
        assert_eq!(
            look.argument(&serde_json::from_value(Value::Bool(true)).unwrap(), &task("look")),
            json!(true)
        );
    }
}
