//! `update_org_settings`: changes how the conversations of an org work.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::call::{Administration, AdministrationTool};
use crate::operations::{OperationError, OrgSection};

pub(super) struct UpdateOrgSettings;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The settings to change: `team`, `lifetimes`, `reopen`, `close` or `interviews`. What is
    /// absent stays, and `null` resets a setting.
    changes: Map<String, Value>,
    /// The short name of the organization; only for the platform's agent.
    #[serde(default)]
    organization: Option<String>,
}

impl AdministrationTool for UpdateOrgSettings {
    const DESCRIPTION: &'static str =
        "Change settings of your organization: how its conversations begin, end and are shared.";
    type Arguments = Arguments;

    async fn run(
        Arguments { changes, organization }: Arguments,
        call: &Administration<'_>,
    ) -> Result<String, OperationError> {
        let org = call.org(organization.as_deref()).await?;
        org.change_settings(OrgSection::Settings, &Value::Object(changes)).await?;
        Ok("The settings are changed.".to_owned())
    }
}
