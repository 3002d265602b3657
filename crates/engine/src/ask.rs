//! The tools by which an agent asks a person: a question, or whether its plan is
//! right. They do nothing but ask; the turn waits for the answer.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gate::Authorized;
use crate::tool::{Ask, Definition, Reply, Tool, ToolContext};

/// The name of the tool that asks a question.
pub const ASK_USER: ToolName = ToolName::from_static("ask_user");
/// The name of the tool that shows a plan.
pub const SUBMIT_PLAN: ToolName = ToolName::from_static("submit_plan");

/// The tools, for turns whose people can be waited for.
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
    definition: Definition,
}

/// What either of them is called with.
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
        Arc::new(Self { definition: Definition::new(spec, description, schema) })
    }
}

impl Tool for AskTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, Reply> {
        let reply = match call.arguments() {
            Ok(Arguments::Question { question, options }) => {
                Reply::Ask(Ask::Question { question, options })
            }
            Ok(Arguments::Plan { title, plan }) => Reply::Ask(Ask::Plan { title, plan }),
            Err(bad) => Reply::Done(bad),
        };
        std::future::ready(reply).boxed()
    }
}
