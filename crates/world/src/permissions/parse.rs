//! Reads a permissions file and runs the tests of its rules.

use std::collections::BTreeMap;

use ostler_domain::gate::permission::PermissionQuery;
use ostler_domain::gate::permission::arguments::ArgumentPattern;
use ostler_domain::gate::permission::rule::{PermissionRule, RuleSubject};
use ostler_domain::gate::permission::text::TextPattern;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolCategory, ToolName};
use serde_json::Value;
use toml_edit::Item;

use super::definition::{
    CaseDefinition, FileDefinition, RuleDefinition, TrustedProject, permissions_schema,
};
use crate::file::{Problem, Problems, Source, check, to_json};

/// The content of a permissions file.
#[derive(Debug, Clone, Default)]
pub struct PermissionFile {
    pub rules: Vec<FileRule>,
    pub trust: Vec<TrustedProject>,
}

/// A rule of a file.
#[derive(Debug, Clone)]
pub struct FileRule {
    pub rule: PermissionRule,
    /// Counted from 1.
    pub line: u32,
    /// How many tests it has.
    pub tests: usize,
    /// The tests that fail; such a rule is refused.
    pub failures: Vec<Problem>,
}

/// Parses a permissions file and runs the tests of its rules. `category_of` knows the tools.
/// The error holds everything that is wrong; tests that fail are no error.
pub fn parse_permissions(
    name: &str,
    text: &str,
    category_of: &dyn Fn(&str) -> Option<ToolCategory>,
) -> Result<PermissionFile, Problems> {
    let source = Source::new(name, text).map_err(|problem| Problems(vec![problem]))?;
    let mut problems = Vec::new();
    check(&source, source.root(), permissions_schema(), &mut problems);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let definition: FileDefinition = serde_path_to_error::deserialize(to_json(source.root()))
        .map_err(|error| {
            let at = source.find(source.root(), &error.path().to_string());
            Problems(vec![source.problem(at, error.inner().to_string())])
        })?;
    let mut file = PermissionFile { rules: Vec::new(), trust: definition.trust };
    for (index, rule) in definition.rule.iter().enumerate() {
        let reader = RuleReader { source: &source, table: rule_table(&source, index), category_of };
        match reader.read(rule) {
            Ok(rule) => file.rules.push(rule),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(file) } else { Err(Problems(problems)) }
}

fn rule_table(source: &Source, index: usize) -> Item {
    match source.root().get("rule") {
        Some(Item::ArrayOfTables(tables)) => tables.get(index).cloned().map(Item::Table),
        Some(item) => item.get(index).cloned(),
        None => None,
    }
    .unwrap_or_default()
}

struct RuleReader<'a> {
    source: &'a Source,
    table: Item,
    category_of: &'a dyn Fn(&str) -> Option<ToolCategory>,
}

impl RuleReader<'_> {
    fn problem(&self, path: &str, message: &dyn std::fmt::Display) -> Problem {
        self.source.problem(self.source.find(&self.table, path), message.to_string())
    }

    fn read(&self, definition: &RuleDefinition) -> Result<FileRule, Problem> {
        let subject = self.subject(definition)?;
        let arguments = definition.arguments.as_ref();
        let arguments: Option<BTreeMap<_, _>> = arguments
            .map(ArgumentPattern::parse_arguments)
            .transpose()
            .map_err(|error| self.problem("arguments", &error))?;
        let expires = definition.expires.as_deref();
        let expires = expires
            .map(parse_expiry)
            .transpose()
            .map_err(|error| self.problem("expires", &error))?;
        if definition.why.trim().is_empty() {
            return Err(self.problem("why", &"say why the rule is there; it is shown to people"));
        }
        let (verdict, why) = (definition.verdict, definition.why.clone());
        let rule = PermissionRule { subject, arguments, verdict, why, expires };
        let mut failures = Vec::new();
        for (index, case) in definition.tests.iter().enumerate() {
            if let Err(message) = self.run_case(&rule, case) {
                failures.push(self.problem(&format!("tests[{index}]"), &message));
            }
        }
        let line = u32::try_from(self.problem("", &"").line).unwrap_or(u32::MAX);
        Ok(FileRule { rule, line, tests: definition.tests.len(), failures })
    }

    fn subject(&self, definition: &RuleDefinition) -> Result<RuleSubject, Problem> {
        match (&definition.tool, definition.category) {
            (Some(tool), None) => {
                let pattern =
                    TextPattern::parse(tool).map_err(|error| self.problem("tool", &error))?;
                Ok(RuleSubject::Tool(pattern))
            }
            (None, Some(category)) => Ok(RuleSubject::Category(category)),
            (None, None) => Err(self.problem("", &"name the `tool` or the `category` of the rule")),
            (Some(_), Some(_)) => {
                Err(self.problem("category", &"a rule is about a `tool` or a `category`, not both"))
            }
        }
    }

    /// Checks that the rule applies to a call as its test says.
    fn run_case(&self, rule: &PermissionRule, case: &CaseDefinition) -> Result<(), String> {
        let (name, of_rule) = match &rule.subject {
            RuleSubject::Tool(tool) => {
                let named = (!tool.has_wildcard()).then(|| tool.as_str());
                (case.tool.as_deref().or(named), None)
            }
            RuleSubject::Category(category) => {
                (Some(case.tool.as_deref().unwrap_or("any_tool")), Some(*category))
            }
        };
        let name = name.ok_or("name the `tool` of the call; that of the rule is a pattern")?;
        let tool: ToolName = name.parse().map_err(|error| format!("`{name}`: {error}"))?;
        let known = case.category.or_else(|| (self.category_of)(name));
        let category = known.or(of_rule).unwrap_or(ToolCategory::Other);
        let arguments = Value::Object(case.arguments.clone());
        let applies =
            rule.applies(PermissionQuery { tool: &tool, category, arguments: &arguments });
        match (applies, case.applies) {
            (true, false) => Err("the rule applies to this call, and must not".into()),
            (false, true) => Err("the rule does not apply to this call, and must".into()),
            _ => Ok(()),
        }
    }
}

/// Parses the time at which a rule expires: a day, or a time with its zone.
pub fn parse_expiry(text: &str) -> Result<Timestamp, String> {
    let time = text.parse::<jiff::Timestamp>().or_else(|_| {
        let day = text.parse::<jiff::civil::Date>()?;
        day.to_zoned(jiff::tz::TimeZone::UTC).map(|start| start.timestamp())
    });
    time.map(|time| Timestamp::from_millis(time.as_millisecond()))
        .map_err(|_| format!("`{text}` is no time; write 2027-01-31 or 2027-01-31T12:00:00Z"))
}
