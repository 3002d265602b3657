//! Changes of a permissions file that leave everything else in it as it is.

use ostler_domain::gate::permission::arguments::arguments_to_value;
use ostler_domain::gate::permission::rule::{PermissionRule, RuleSubject};
use ostler_domain::time::Timestamp;
use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TomlError, Value, value};

use super::definition::TrustedProject;

/// Returns a rule as it is written in a file.
pub fn render_rule(rule: &PermissionRule) -> String {
    let mut table = Table::new();
    match &rule.subject {
        RuleSubject::Tool(tool) => table["tool"] = value(tool.as_str()),
        RuleSubject::Category(category) => table["category"] = value(category.name()),
    }
    if let Some(arguments) = &rule.arguments {
        table["arguments"] = Item::Value(to_toml(&arguments_to_value(arguments)));
    }
    table["verdict"] = value(rule.verdict.name());
    table["why"] = value(rule.why.as_str());
    if let Some(expires) = rule.expires {
        table["expires"] = value(time(expires));
    }
    format!("[[rule]]\n{table}")
}

/// Returns the text of a file with a rule more: before the rule at a line, with the comment
/// above it, or else at the end.
pub fn insert_rule(text: &str, rule: &PermissionRule, before: Option<u32>) -> String {
    let rendered = render_rule(rule);
    let Some(line) = before.and_then(|line| usize::try_from(line).ok()?.checked_sub(1)) else {
        let gap = if text.is_empty() || text.ends_with("\n\n") {
            ""
        } else if text.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        return format!("{text}{gap}{rendered}");
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut at = line.min(lines.len());
    while at > 0 && lines[at - 1].trim_start().starts_with('#') {
        at -= 1;
    }
    let (head, tail) = lines.split_at(at);
    format!("{}{rendered}\n{}", head.concat(), tail.concat())
}

/// Returns the text of a user's file in which a project is trusted.
pub fn set_trust(text: &str, trusted: &TrustedProject) -> Result<String, TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let list = document.entry("trust").or_insert(Item::ArrayOfTables(Default::default()));
    if let Some(tables) = list.as_array_of_tables_mut() {
        let of_project = |table: &&mut Table| {
            table.get("project").and_then(Item::as_str) == Some(trusted.project.as_str())
        };
        if let Some(table) = tables.iter_mut().find(of_project) {
            table["sha256"] = value(trusted.sha256.as_str());
        } else {
            let mut table = Table::new();
            table["project"] = value(trusted.project.as_str());
            table["sha256"] = value(trusted.sha256.as_str());
            tables.push(table);
        }
    }
    Ok(document.to_string())
}

fn time(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::MAX).to_string()
}

fn to_toml(json: &Json) -> Value {
    match json {
        Json::Null => Value::from("**"),
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::from(number),
            None => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::Array(items.iter().map(to_toml).collect::<Array>()),
        Json::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.as_str(), to_toml(value)));
            Value::InlineTable(members.collect::<InlineTable>())
        }
    }
}
