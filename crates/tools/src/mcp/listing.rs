//! Converts the tool list of a server to tool definitions, and reports the tools that
//! cannot be used.

use std::collections::BTreeMap;

use ostler_domain::tool::{Risk, ToolCategory, ToolGroup, ToolName, ToolSpec};
use ostler_engine::tool::ToolDefinition;
use serde::Deserialize;
use serde_json::Value;

use super::config::{AnnotationTrust, McpServerConfig};
use super::error::McpServerError;
use super::{schema, tool_name};

/// The most bytes of a tool name of a server.
const MAX_NAME_BYTES: usize = 256;

/// A usable tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RemoteTool {
    /// The name that the server uses.
    pub(super) remote_name: String,
    pub(super) definition: ToolDefinition,
}

/// A tool that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkippedTool {
    /// The name that the server uses, if it can be read.
    pub(super) tool: Option<String>,
    pub(super) error: McpServerError,
}

/// The result of converting a list.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ToolListing {
    pub(super) tools: Vec<RemoteTool>,
    pub(super) skipped: Vec<SkippedTool>,
}

/// A tool as a server describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolDescription {
    name: String,
    description: Option<String>,
    input_schema: Value,
    annotations: Option<Annotations>,
    /// How it runs. Ignored unless it is understood.
    #[serde(default)]
    execution: Value,
}

/// What a server claims about a tool.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
}

/// Converts a list of tools. `has_more` says that the server has further tools.
pub(super) fn convert(listed: Vec<Value>, has_more: bool, config: &McpServerConfig) -> ToolListing {
    let max_tools = config.limits.max_tools;
    let mut listing = ToolListing::default();
    if has_more || listed.len() > max_tools {
        let error = McpServerError::TooManyTools(max_tools);
        listing.skipped.push(SkippedTool { tool: None, error });
    }
    let mut by_name: BTreeMap<ToolName, Vec<RemoteTool>> = BTreeMap::new();
    let is_used = |tool: &Value| match (&config.tools, tool.get("name")) {
        (Some(used), Some(Value::String(name))) => used.contains(name),
        (used, _) => used.is_none(),
    };
    for name in config.tools.iter().flatten() {
        if !listed.iter().any(|tool| tool["name"] == **name) {
            let error = McpServerError::NoSuchTool;
            listing.skipped.push(SkippedTool { tool: Some(printable_name(name)), error });
        }
    }
    for tool in listed.into_iter().take(max_tools).filter(is_used) {
        let name = tool.get("name").and_then(Value::as_str).map(printable_name);
        match remote_tool(tool, config) {
            Ok(tool) => by_name.entry(tool.definition.spec.name.clone()).or_default().push(tool),
            Err(error) => listing.skipped.push(SkippedTool { tool: name, error }),
        }
    }
    for (name, mut same) in by_name {
        // With several it would be unclear which one a model means, so none is used.
        if same.len() == 1 {
            listing.tools.append(&mut same);
            continue;
        }
        listing.skipped.extend(same.into_iter().map(|tool| SkippedTool {
            tool: Some(printable_name(&tool.remote_name)),
            error: McpServerError::DuplicateTool(name.to_string()),
        }));
    }
    listing
}

fn remote_tool(tool: Value, config: &McpServerConfig) -> Result<RemoteTool, McpServerError> {
    let limits = &config.limits;
    let tool: ToolDescription = serde_json::from_value(tool)
        .map_err(|error| McpServerError::InvalidTool(error.to_string()))?;
    if tool.name.len() > MAX_NAME_BYTES {
        let reason = format!("its name has more than {MAX_NAME_BYTES} bytes");
        return Err(McpServerError::InvalidTool(reason));
    }
    if tool.execution["taskSupport"] == "required" {
        return Err(McpServerError::NeedsTask);
    }
    schema::check(&tool.input_schema, limits.max_schema_bytes)
        .map_err(McpServerError::InvalidSchema)?;
    let name = tool_name::qualified_name(&config.name, &tool.name)
        .ok_or_else(|| McpServerError::InvalidTool("its name cannot be used".to_owned()))?;
    let annotations = tool.annotations.unwrap_or_default();
    let by_annotations = || risk(annotations, config.annotation_trust);
    let spec = ToolSpec {
        category: ToolCategory::Mcp,
        risk: config.risk.get(&tool.name).copied().unwrap_or_else(by_annotations),
        audience: config.audience,
        ..ToolSpec::write(name, ToolGroup::Custom).external().untrusted().priced(config.price)
    };
    let description =
        sanitize_description(&tool.description.unwrap_or_default(), limits.max_description_bytes);
    let definition = ToolDefinition {
        timeout: limits.call_timeout,
        max_output: limits.max_output_bytes,
        idempotent: config.annotation_trust == AnnotationTrust::Trusted
            && annotations.idempotent_hint == Some(true),
        ..ToolDefinition::new(spec, description, tool.input_schema)
    };
    Ok(RemoteTool { remote_name: tool.name, definition })
}

/// Returns the risk of a tool. Any server can raise it; only a trusted one can lower it.
fn risk(annotations: Annotations, trust: AnnotationTrust) -> Risk {
    if annotations.destructive_hint == Some(true) {
        Risk::Destructive
    } else if trust == AnnotationTrust::Trusted && annotations.read_only_hint == Some(true) {
        Risk::Read
    } else {
        Risk::Write
    }
}

/// Shortens a description and removes characters that a model reads but a person does
/// not see.
fn sanitize_description(text: &str, max_bytes: usize) -> String {
    let mut text: String = text.chars().filter(|c| is_visible(*c)).collect();
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push('…');
    }
    text
}

fn is_visible(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // Soft hyphens, direction marks, joiners, and tag characters.
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    }
}

/// Returns a tool name that is safe to show in a message.
fn printable_name(name: &str) -> String {
    name.chars().filter(|c| *c != '\n' && is_visible(*c)).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::{Annotations, ToolListing, convert, risk, sanitize_description};
    use crate::mcp::config::{AnnotationTrust, McpServerConfig, McpStdioServer, McpTransport};
    use ostler_domain::tool::{Reach, Risk, ToolCategory, ToolGroup, Trust};
    use serde_json::{Value, json};

    fn config() -> McpServerConfig {
        let transport = McpTransport::Stdio(McpStdioServer::default());
        McpServerConfig::new("s".parse().unwrap(), transport)
    }

    fn tool(name: &str) -> Value {
        json!({"name": name, "description": "d", "inputSchema": {"type": "object"}})
    }

    fn names(listing: &ToolListing) -> Vec<&str> {
        listing.tools.iter().map(|tool| tool.definition.spec.name.as_str()).collect()
    }

    fn skipped(listing: &ToolListing) -> Vec<String> {
        listing
            .skipped
            .iter()
            .map(|skipped| format!("{}: {}", skipped.tool.as_deref().unwrap_or("-"), skipped.error))
            .collect()
    }

    #[test]
    fn a_tool_of_a_server_is_external_and_untrusted() {
        let listing = convert(vec![tool("echo")], false, &config());
        let spec = &listing.tools[0].definition.spec;
        assert_eq!(spec.name.as_str(), "mcp__s__echo");
        assert_eq!(
            (spec.category, spec.group, spec.risk, spec.reach, spec.output),
            (ToolCategory::Mcp, ToolGroup::Custom, Risk::Write, Reach::External, Trust::Untrusted)
        );
        assert_eq!(listing.skipped, []);
    }

    #[test]
    fn untrusted_annotations_can_only_raise_the_risk() {
        use AnnotationTrust::{Trusted, Untrusted};
        let table = [
            (None, None, Untrusted, Risk::Write),
            (None, None, Trusted, Risk::Write),
            (Some(true), None, Untrusted, Risk::Write),
            (Some(true), None, Trusted, Risk::Read),
            (Some(true), Some(false), Untrusted, Risk::Write),
            (Some(true), Some(true), Trusted, Risk::Destructive),
            (Some(false), Some(false), Trusted, Risk::Write),
            (None, Some(true), Untrusted, Risk::Destructive),
        ];
        for (read_only_hint, destructive_hint, trust, expected) in table {
            let annotations =
                Annotations { read_only_hint, destructive_hint, idempotent_hint: None };
            assert_eq!(
                risk(annotations, trust),
                expected,
                "{read_only_hint:?} {destructive_hint:?}"
            );
        }
    }

    #[test]
    fn tools_are_idempotent_only_if_annotations_are_trusted() {
        let mut listed = tool("echo");
        listed["annotations"] = json!({"idempotentHint": true});
        let idempotent = |annotation_trust| {
            let config = McpServerConfig { annotation_trust, ..config() };
            convert(vec![listed.clone()], false, &config).tools[0].definition.idempotent
        };
        assert!(!idempotent(AnnotationTrust::Untrusted));
        assert!(idempotent(AnnotationTrust::Trusted));
    }

    #[test]
    fn unusable_tools_are_skipped_and_reported() {
        let bad = json!({"name": "bad", "inputSchema": {"type": "string"}});
        let none = json!({"name": "none"});
        let listing = convert(vec![bad, tool("good"), none, json!(7)], false, &config());
        assert_eq!(names(&listing), ["mcp__s__good"]);
        let reported = skipped(&listing);
        assert_eq!(reported.len(), 3, "{reported:?}");
        assert!(
            reported[0].starts_with("bad: skipped, because its schema cannot be used"),
            "{reported:?}"
        );
        assert!(
            reported[1].starts_with("none: skipped, because its description is invalid"),
            "{reported:?}"
        );
        assert!(
            reported[2].starts_with("-: skipped, because its description is invalid"),
            "{reported:?}"
        );
    }

    #[test]
    fn tools_that_only_run_as_tasks_are_skipped() {
        let with_tasks = |name: &str, support: &str| {
            let mut listed = tool(name);
            listed["execution"] = json!({"taskSupport": support});
            listed
        };
        let listed = vec![with_tasks("slow", "required"), with_tasks("quick", "optional")];
        let listing = convert(listed, false, &config());
        assert_eq!(names(&listing), ["mcp__s__quick"]);
        let expected =
            ["slow: skipped, because it only runs as an MCP task, which Ostler does not support"];
        assert_eq!(skipped(&listing), expected);
    }

    #[test]
    fn tools_with_the_same_name_are_all_skipped() {
        let long = "x".repeat(57);
        let short = convert(vec![tool(&long)], false, &config());
        let shortened = names(&short)[0].strip_prefix("mcp__s__").unwrap().to_owned();
        let listed = [&long, &shortened, "other", "twice", "twice"].map(tool);
        let listing = convert(listed.to_vec(), false, &config());
        assert_eq!(names(&listing), ["mcp__s__other"]);
        assert_eq!(listing.skipped.len(), 4);
    }

    #[test]
    fn tools_over_the_limit_are_skipped() {
        let mut config = config();
        config.limits.max_tools = 2;
        let listing = convert(["a", "b", "c"].map(tool).to_vec(), false, &config);
        assert_eq!(names(&listing), ["mcp__s__a", "mcp__s__b"]);
        let expected = ["-: it lists more than 2 tools; the others are skipped"];
        assert_eq!(skipped(&listing), expected);
    }

    #[test]
    fn descriptions_are_shortened_and_cleaned() {
        assert_eq!(sanitize_description("short", 5), "short");
        assert_eq!(sanitize_description("aß", 2), "a…");
        assert_eq!(sanitize_description("a\u{1b}[2K\u{202e}b\n", 99), "a[2Kb\n");
    }
}
