//! `list_client_orgs`: lists the clients of an agency.

use ostler_domain::org::Org;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Administration, AdministrationTool};
use crate::operations::OperationError;

pub(super) struct ListClientOrgs;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The short name of the agency; only for the platform's agent.
    #[serde(default)]
    agency: Option<String>,
}

impl AdministrationTool for ListClientOrgs {
    const DESCRIPTION: &'static str = "List the client organizations of your agency.";
    type Arguments = Arguments;

    async fn run(
        Arguments { agency }: Arguments,
        call: &Administration<'_>,
    ) -> Result<String, OperationError> {
        let clients = call.org(agency.as_deref()).await?.clients().await?;
        let clients: Vec<Value> = clients.iter().map(org_json).collect();
        Ok(json!({ "clients": clients }).to_string())
    }
}

/// Returns what a list shows of an org.
pub(super) fn org_json(org: &Org) -> Value {
    json!({"slug": org.slug, "name": org.name, "plan": org.plan, "timeZone": org.time_zone})
}
