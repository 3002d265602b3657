//! `suspend_organization`: closes the channels of an org.

use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{Administration, AdministrationTool};
use crate::operations::OperationError;

pub(super) struct SuspendOrganization;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The short name of the organization.
    organization: String,
}

impl AdministrationTool for SuspendOrganization {
    const DESCRIPTION: &'static str = "Suspend an organization: its channels are closed and it is \
        not listed any more. A person can undo it.";
    type Arguments = Arguments;

    async fn run(
        Arguments { organization }: Arguments,
        call: &Administration<'_>,
    ) -> Result<String, OperationError> {
        call.org(Some(&organization)).await?.suspend().await?;
        Ok(format!("`{}` is suspended.", organization.trim()))
    }
}
