//! `update_agent`: changes the settings of an agent.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::call::{Administration, AdministrationTool};
use crate::operations::OperationError;

pub(super) struct UpdateAgent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The agent: a short name, a role or an id.
    agent: String,
    /// The new values of the fields to change, such as `name`, `status`, `models`, `tools`,
    /// `knowledge_tags` or `brand`.
    changes: Map<String, Value>,
    /// The short name of the agent's organization; only for the platform's agent.
    #[serde(default)]
    organization: Option<String>,
}

impl AdministrationTool for UpdateAgent {
    const DESCRIPTION: &'static str = "Change the settings of an agent of your organization. What \
        bounds an agent, such as its autonomy, is changed by people; for its soul, propose a \
        change.";
    type Arguments = Arguments;

    async fn run(
        Arguments { agent, changes, organization }: Arguments,
        call: &Administration<'_>,
    ) -> Result<String, OperationError> {
        let org = call.org(organization.as_deref()).await?;
        org.change_agent(&agent, &Value::Object(changes)).await?;
        Ok(format!("`{}` is changed.", agent.trim()))
    }
}
