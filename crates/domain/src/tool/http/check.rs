//! The mistakes that a definition of an HTTP tool can have.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{BodyFormat, HttpMethod, HttpTool, MAX_TIMEOUT_SECS};
use crate::tool::catalogue::built_in;
use crate::tool::checks::{MAX_DESCRIPTION, Problems};
use crate::tool::template::{ArgumentTemplate, CONTACT_PLACEHOLDERS};
use crate::tool::{Risk, ToolProblem};

/// The most bytes of the schema and of the body, as JSON.
const MAX_JSON_BYTES: usize = 16 * 1024;
const MAX_DEPTH: usize = 16;

impl HttpTool {
    /// Returns every mistake of the definition. Whether the input is a valid JSON Schema is
    /// not checked here.
    pub fn check(&self) -> Vec<ToolProblem> {
        let mut problems = Problems::default();
        self.check_texts(&mut problems);
        problems.check_url(&self.url);
        problems.check_headers(&self.headers);
        for (name, value) in &self.query {
            if name.is_empty() {
                problems.add("query", "a query parameter needs a name");
            }
            problems.check_written(format!("query.{name}"), name, value);
        }
        problems.check_timeout(self.timeout_secs, MAX_TIMEOUT_SECS);
        problems.check_price(self.price);
        self.check_body(&mut problems);
        self.check_response(&mut problems);
        if let Some(arguments) = self.check_input(&mut problems) {
            self.check_placeholders(&arguments, &mut problems);
        }
        problems.into_vec()
    }

    fn check_texts(&self, problems: &mut Problems) {
        let name = self.name.as_str();
        if built_in().iter().any(|tool| tool.name == self.name) {
            problems.add("name", format!("there is a built-in tool `{name}`; choose another name"));
        }
        if name.starts_with("mcp__") {
            problems.add("name", "names that start with `mcp__` belong to tools of MCP servers");
        }
        let length = self.description.trim().chars().count();
        if length == 0 {
            problems.add("description", "say what the tool does; the model decides by it");
        } else if length > MAX_DESCRIPTION {
            let message = format!("a description has at most {MAX_DESCRIPTION} characters");
            problems.add("description", message);
        }
        let changes =
            matches!(self.method, HttpMethod::Put | HttpMethod::Patch | HttpMethod::Delete);
        if self.risk == Risk::Read && changes {
            let message = format!(
                "a {} request changes something; use `write` or `destructive`",
                self.method.name()
            );
            problems.add("risk", message);
        }
    }

    /// Checks the schema, and returns its arguments with whether each is required.
    fn check_input(&self, problems: &mut Problems) -> Option<Vec<(String, bool)>> {
        let Value::Object(schema) = &self.input else {
            problems.add("input", "the input is a JSON Schema of an object");
            return None;
        };
        if self.input.to_string().len() > MAX_JSON_BYTES {
            problems.add("input", format!("the schema has more than {MAX_JSON_BYTES} bytes"));
        }
        if schema.get("type").is_some_and(|kind| kind != "object") {
            problems.add("input.type", "the arguments of a tool are an object");
        }
        check_references(&self.input, 0, problems);
        let empty = Map::new();
        let properties = match schema.get("properties") {
            None => &empty,
            Some(Value::Object(properties)) => properties,
            Some(_) => {
                problems.add("input.properties", "write one table for each argument");
                return None;
            }
        };
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<&str> =
            required.into_iter().flatten().filter_map(Value::as_str).collect();
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            let message = format!("`{name}` is not one of the properties");
            problems.add("input.required", message);
        }
        let is_required = |name: &String| (name.clone(), required.contains(&name.as_str()));
        Some(properties.keys().map(is_required).collect())
    }

    fn check_body(&self, problems: &mut Problems) {
        let Some(body) = &self.body else { return };
        if matches!(self.method, HttpMethod::Get | HttpMethod::Delete) {
            let message = format!("a {} request has no body; use `query`", self.method.name());
            problems.add("body", message);
        }
        if body.to_string().len() > MAX_JSON_BYTES {
            problems.add("body", format!("the body has more than {MAX_JSON_BYTES} bytes"));
        }
        let flat = |body: &Value| match body {
            Value::Object(members) => {
                members.values().all(|value| !value.is_object() && !value.is_array())
            }
            _ => false,
        };
        if self.body_format == BodyFormat::Form && !flat(body) {
            problems.add("body", "the fields of a form are texts, numbers or true and false");
        }
        check_body_values(problems, "body", "", body);
    }

    fn check_response(&self, problems: &mut Problems) {
        for (index, pointer) in self.response.result.iter().enumerate() {
            if !pointer.starts_with('/') {
                let message = "a JSON pointer starts with `/`, such as `/order/status`";
                problems.add(format!("response.result.{index}"), message);
            }
        }
        let response = &self.response;
        let lists = [
            ("success", &response.success),
            ("refused", &response.refused),
            ("not_found", &response.not_found),
            ("failed", &response.failed),
        ];
        let mut listed = BTreeSet::new();
        for (name, statuses) in lists {
            for status in statuses {
                let path = format!("response.{name}");
                if !(200..=599).contains(status) {
                    problems.add(path, format!("{status} is not the status of an answer"));
                } else if !listed.insert(*status) {
                    problems.add(path, format!("{status} is listed twice"));
                }
            }
        }
    }

    fn check_placeholders(&self, arguments: &[(String, bool)], problems: &mut Problems) {
        let mut used = BTreeSet::new();
        let mut check = |field: &str, text: &str, needs_required: bool, problems: &mut Problems| {
            let template = match ArgumentTemplate::parse(text) {
                Ok(template) => template,
                Err(error) => return problems.add(field, error.to_string()),
            };
            let of_call = |name: &&str| !CONTACT_PLACEHOLDERS.contains(name);
            for name in template.arguments().filter(of_call) {
                match arguments.iter().find(|(known, _)| known == name) {
                    None => {
                        problems.add(field, format!("`{{{name}}}` is not in `input.properties`"));
                    }
                    Some((_, false)) if needs_required => problems.add(
                        field,
                        format!(
                            "`{{{name}}}` must be in `input.required`, because the URL needs it"
                        ),
                    ),
                    Some(_) => {}
                }
                used.insert(name.to_owned());
            }
        };
        check("url", &self.url, true, problems);
        for (name, value) in &self.query {
            check(&format!("query.{name}"), value, false, problems);
        }
        let mut texts = Vec::new();
        body_texts("body", self.body.as_ref(), 0, &mut texts);
        for (field, text) in texts {
            check(&field, text, false, problems);
        }
        if self.body.is_none() && self.method.sends_arguments() {
            return;
        }
        for (name, _) in arguments.iter().filter(|(name, _)| !used.contains(name)) {
            let message = format!(
                "`{name}` is used nowhere; use `{{{name}}}` in the url, the query or the body"
            );
            problems.add(format!("input.properties.{name}"), message);
        }
    }
}

/// Collects the texts of a body, with their paths.
fn body_texts<'b>(
    path: &str,
    body: Option<&'b Value>,
    depth: usize,
    texts: &mut Vec<(String, &'b str)>,
) {
    match body {
        _ if depth > MAX_DEPTH => {}
        Some(Value::String(text)) => texts.push((path.to_owned(), text)),
        Some(Value::Object(members)) => {
            for (name, value) in members {
                body_texts(&format!("{path}.{name}"), Some(value), depth + 1, texts);
            }
        }
        Some(Value::Array(items)) => {
            for (index, value) in items.iter().enumerate() {
                body_texts(&format!("{path}.{index}"), Some(value), depth + 1, texts);
            }
        }
        _ => {}
    }
}

/// Refuses references to other documents, which are never fetched.
fn check_references(schema: &Value, depth: usize, problems: &mut Problems) {
    if depth > MAX_DEPTH {
        return problems.add("input", format!("it is nested deeper than {MAX_DEPTH} levels"));
    }
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                let outside = value.as_str().is_some_and(|target| !target.starts_with('#'));
                if name == "$ref" && outside {
                    problems.add("input", "a schema must not refer to another document");
                }
                check_references(value, depth + 1, problems);
            }
        }
        Value::Array(items) => {
            for item in items {
                check_references(item, depth + 1, problems);
            }
        }
        _ => {}
    }
}

/// Checks that no secret is written in a body.
fn check_body_values(problems: &mut Problems, path: &str, name: &str, value: &Value) {
    match value {
        Value::String(text) => problems.check_written(path.to_owned(), name, text),
        Value::Object(members) => {
            for (name, value) in members {
                check_body_values(problems, &format!("{path}.{name}"), name, value);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                check_body_values(problems, &format!("{path}.{index}"), name, value);
            }
        }
        _ => {}
    }
}
