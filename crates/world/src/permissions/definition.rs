//! What a permissions file may contain. The doc comments are the descriptions in its JSON
//! Schema.

use std::sync::LazyLock;

use ostler_domain::gate::permission::PermissionPolicy;
use ostler_domain::tool::ToolCategory;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::schema::close_tables;

/// Permission rules for `ostler run`, and projects whose own rules are trusted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(title = "Ostler permissions")]
pub(super) struct FileDefinition {
    /// The rules, in the order in which they are asked; the first that applies decides
    #[serde(default)]
    pub(super) rule: Vec<RuleDefinition>,
    /// Projects whose own file may allow calls; only read in the file of the user
    #[serde(default)]
    pub(super) trust: Vec<TrustedProject>,
}

/// A rule: what it is about, and what happens to a call that it applies to.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct RuleDefinition {
    /// The tool, by name; `*` stands for any characters. Either `tool` or `category` is set
    #[serde(default)]
    pub(super) tool: Option<String>,
    /// The kind of tools: read, edit, execute, mcp or other
    #[serde(default)]
    pub(super) category: Option<ToolCategory>,
    /// Patterns of the arguments, in the shape of the arguments; without it, any arguments
    #[serde(default)]
    pub(super) arguments: Option<Map<String, Value>>,
    /// allow, ask or deny
    pub(super) verdict: PermissionPolicy,
    /// The reason, which is shown when the rule decides
    pub(super) why: String,
    /// When the rule stops to apply, as 2027-01-31 or 2027-01-31T12:00:00Z
    #[serde(default)]
    pub(super) expires: Option<String>,
    /// Calls that the rule must and must not apply to, checked whenever the file is read
    #[serde(default)]
    pub(super) tests: Vec<CaseDefinition>,
}

/// A call, and whether its rule applies to it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct CaseDefinition {
    /// The tool of the call; that of the rule if it is left out
    #[serde(default)]
    pub(super) tool: Option<String>,
    /// The kind of that tool, if it is not one of Ostler's own
    #[serde(default)]
    pub(super) category: Option<ToolCategory>,
    /// The arguments of the call
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
    /// Whether the rule applies to the call
    pub(super) applies: bool,
}

/// A project whose own permissions file may allow calls, as long as it stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct TrustedProject {
    /// The folder of the project.
    pub project: String,
    /// The SHA-256 of its permissions file, in hexadecimal digits.
    pub sha256: String,
}

/// Returns the JSON Schema of a permissions file.
pub fn permissions_schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let settings = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
        let mut schema =
            settings.into_generator().into_root_schema_for::<FileDefinition>().to_value();
        close_tables(&mut schema);
        schema
    });
    &SCHEMA
}
