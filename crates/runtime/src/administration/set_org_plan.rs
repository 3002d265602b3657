//! `set_org_plan`: changes the licence plan of an org.

use ostler_domain::org::plan::LicencePlan;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{Administration, AdministrationTool};
use crate::operations::OperationError;

pub(super) struct SetOrgPlan;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The short name of the organization.
    organization: String,
    plan: LicencePlan,
    /// Whether the licence includes client organizations; unchanged if you leave it out.
    #[serde(default)]
    sub_orgs: Option<bool>,
}

impl AdministrationTool for SetOrgPlan {
    const DESCRIPTION: &'static str = "Change the licence plan of an organization.";
    type Arguments = Arguments;

    async fn run(
        Arguments { organization, plan, sub_orgs }: Arguments,
        call: &Administration<'_>,
    ) -> Result<String, OperationError> {
        call.org(Some(&organization)).await?.set_plan(plan, sub_orgs).await?;
        Ok(format!("`{}` has the plan {} now.", organization.trim(), plan.name()))
    }
}
