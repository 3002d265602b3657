//! `get_client_org_stats`: the figures of a client.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::call::{Administration, AdministrationTool};
use crate::operations::OperationError;

pub(super) struct GetClientOrgStats;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The short name of the client, such as `bella`.
    client_slug: String,
}

impl AdministrationTool for GetClientOrgStats {
    const DESCRIPTION: &'static str = "Look at the figures of one of your clients: agents, \
        channels, sessions, approvals that wait, open issues and credits.";
    type Arguments = Arguments;

    async fn run(
        Arguments { client_slug }: Arguments,
        call: &Administration<'_>,
    ) -> Result<String, OperationError> {
        let stats = call.org(Some(&client_slug)).await?.stats().await?;
        Ok(json!(stats).to_string())
    }
}
