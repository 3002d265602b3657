//! The tools of the MCP server, in one table: what each does, takes and needs. Which of them
//! a caller has is decided by its role and its scopes.

use std::sync::Arc;

use ostler_domain::id::{ApprovalId, SessionId};
use ostler_domain::org::key_scope::KeyAccess;
use ostler_domain::org::permission::OrgPermission;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::Deserialize;
use serde_json::Value;

/// A tool, and what a caller needs to have it.
pub(super) struct McpTool {
    pub(super) name: &'static str,
    title: &'static str,
    about: &'static str,
    pub(super) permission: OrgPermission,
    /// What a key with scopes has to cover.
    pub(super) scope: (&'static str, KeyAccess),
    schema: fn(&mut SchemaGenerator) -> schemars::Schema,
}

/// Which organization a call is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OrgArguments {
    /// Id or slug of the organization; by default the caller's own.
    #[serde(default)]
    pub(super) organization: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskArguments {
    /// Slug or id of the agent.
    pub(super) agent: String,
    /// What to say to the agent.
    #[schemars(length(min = 1, max = 65_536))]
    pub(super) message: String,
    /// The name of a conversation that is kept, without white space. By default the agent
    /// knows nothing of earlier messages.
    #[serde(default)]
    #[schemars(length(min = 1, max = 128))]
    pub(super) conversation: Option<String>,
    /// Id or slug of the organization; by default the caller's own.
    #[serde(default)]
    pub(super) organization: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListSessionsArguments {
    /// Whether to list only those that wait for a person or are held by one.
    #[serde(default)]
    pub(super) handed_off: bool,
    /// The most sessions, newest first; 20 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    pub(super) limit: Option<u32>,
    /// Id or slug of the organization; by default the caller's own.
    #[serde(default)]
    pub(super) organization: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionArguments {
    /// Id of the session.
    pub(super) session: SessionId,
    /// Id or slug of the organization; by default the caller's own.
    #[serde(default)]
    pub(super) organization: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApproveArguments {
    /// Id of the approval.
    pub(super) approval: ApprovalId,
    /// Id or slug of the organization; by default the caller's own.
    #[serde(default)]
    pub(super) organization: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RejectArguments {
    /// Id of the approval.
    pub(super) approval: ApprovalId,
    /// Why; the agent is told.
    #[schemars(length(min = 1, max = 1000))]
    pub(super) reason: String,
    /// Id or slug of the organization; by default the caller's own.
    #[serde(default)]
    pub(super) organization: Option<String>,
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> schemars::Schema {
    T::json_schema(generator)
}

/// All tools.
pub(super) const TOOLS: [McpTool; 7] = [
    McpTool {
        name: "list_agents",
        title: "List agents",
        about: "Lists the agents that take messages, with slug, name and role.",
        permission: OrgPermission::View,
        scope: ("agents", KeyAccess::Read),
        schema: schema_of::<OrgArguments>,
    },
    McpTool {
        name: "ask_agent",
        title: "Ask an agent",
        about: "Sends a message to an agent and returns its answer. The agent works in its \
                harness: a call that needs approval is pending, and the answer says so.",
        permission: OrgPermission::Operate,
        scope: ("chat", KeyAccess::Write),
        schema: schema_of::<AskArguments>,
    },
    McpTool {
        name: "list_sessions",
        title: "List sessions",
        about: "Lists conversations, newest first, with their status.",
        permission: OrgPermission::View,
        scope: ("sessions", KeyAccess::Read),
        schema: schema_of::<ListSessionsArguments>,
    },
    McpTool {
        name: "show_session",
        title: "Show a session",
        about: "Shows a conversation with its messages, runs and open approvals.",
        permission: OrgPermission::View,
        scope: ("sessions", KeyAccess::Read),
        schema: schema_of::<SessionArguments>,
    },
    McpTool {
        name: "list_approvals",
        title: "List approvals",
        about: "Lists tool calls of agents that wait for the decision of a person.",
        permission: OrgPermission::View,
        scope: ("approvals", KeyAccess::Read),
        schema: schema_of::<OrgArguments>,
    },
    McpTool {
        name: "approve_call",
        title: "Approve a call",
        about: "Approves a tool call that waits. It is made once, and cannot be taken back.",
        permission: OrgPermission::Operate,
        scope: ("approvals", KeyAccess::Write),
        schema: schema_of::<ApproveArguments>,
    },
    McpTool {
        name: "reject_call",
        title: "Reject a call",
        about: "Rejects a tool call that waits. The agent is told the reason.",
        permission: OrgPermission::Operate,
        scope: ("approvals", KeyAccess::Write),
        schema: schema_of::<RejectArguments>,
    },
];

impl McpTool {
    /// Returns the tool with a name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        const ALL: &[McpTool] = &TOOLS;
        ALL.iter().find(|tool| tool.name == name)
    }

    /// Returns the definition that clients read.
    pub(super) fn definition(&self) -> Tool {
        let mut settings = SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        let schema = (self.schema)(&mut settings.into_generator());
        let schema: JsonObject = match schema.into() {
            Value::Object(fields) => fields,
            _ => JsonObject::new(),
        };
        let reads = self.permission == OrgPermission::View;
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(reads)
            .destructive(self.name == "approve_call")
            .open_world(!reads);
        Tool::new(self.name, self.about, Arc::new(schema))
            .with_title(self.title)
            .with_annotations(annotations)
    }
}

#[cfg(test)]
mod tests {
    use super::TOOLS;

    /// K05: every tool has a schema that refuses what it does not know, and names its fields.
    #[test]
    fn k05_every_tool_has_a_strict_schema() {
        for tool in TOOLS {
            let schema = serde_json::to_value(&*tool.definition().input_schema).unwrap();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            for (name, field) in schema["properties"].as_object().unwrap() {
                assert!(field["description"].is_string(), "{} {name}: {field}", tool.name);
            }
        }
    }
}
