//! `list_organizations`: lists every org of the installation.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Administration, AdministrationTool};
use super::list_client_orgs::org_json;
use crate::operations::OperationError;

pub(super) struct ListOrganizations;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

impl AdministrationTool for ListOrganizations {
    const DESCRIPTION: &'static str = "List the organizations of this installation.";
    type Arguments = Arguments;

    async fn run(
        Arguments {}: Arguments,
        call: &Administration<'_>,
    ) -> Result<String, OperationError> {
        let all = call.operations.organizations(call.actor()).await?;
        let slug_of = |id| all.iter().find(|one| Some(one.id) == id).map(|one| &one.slug);
        let listed = all.iter().map(|org| {
            let mut listed = org_json(org);
            listed["agency"] = json!(slug_of(org.parent()));
            listed
        });
        let listed: Vec<Value> = listed.collect();
        Ok(json!({ "organizations": listed }).to_string())
    }
}
