//! Tools with which an agent asks a person: an open question, or approval of a
//! plan. They only ask; the turn waits for the answer.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gate::Authorized;
use crate::tool::{Tool, ToolContext, ToolDefinition, ToolReply, UserQuestion};

/// The tool that asks a question.
pub const ASK_USER: ToolName = ToolName::from_static("ask_user");
/// The tool that submits a plan for approval.
pub const SUBMIT_PLAN: ToolName = ToolName::from_static("submit_plan");

/// Returns both tools, for turns that may wait for a person.
pub fn tools() -> [Arc<dyn Tool>; 2] {
    let question = json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "description": "What you want to know."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Answers to choose from, if there are only a few."
            }
        },
        "required": ["question"],
        "additionalProperties": false
    });
    let plan = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "A few words for it."},
            "plan": {"type": "string", "minLength": 1, "description": "What you would do, step by step."}
        },
        "required": ["plan"],
        "additionalProperties": false
    });
    [
        AskTool::of(ASK_USER, "Ask a person something that you cannot find out.", question),
        AskTool::of(SUBMIT_PLAN, "Show a person your plan before you follow it.", plan),
    ]
}

struct AskTool {
    definition: ToolDefinition,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Arguments {
    Question {
        question: String,
        #[serde(default)]
        options: Vec<String>,
    },
    Plan {
        #[serde(default)]
        title: Option<String>,
        plan: String,
    },
}

impl AskTool {
    fn of(name: ToolName, description: &str, schema: Value) -> Arc<dyn Tool> {
        let spec = ToolSpec::control(name, ToolGroup::Custom);
        Arc::new(Self { definition: ToolDefinition::new(spec, description, schema) })
    }
}

impl Tool for AskTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        let reply = match call.arguments() {
            Ok(Arguments::Question { question, options }) => {
                ToolReply::Ask(UserQuestion::Question { question, options })
            }
            Ok(Arguments::Plan { title, plan }) => {
                ToolReply::Ask(UserQuestion::Plan { title, plan })
            }
            Err(bad) => ToolReply::Done(bad),
        };
        std::future::ready(reply).boxed()
    }
}
