//! `ostler workflow run`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use ostler_api::workflow::{StartWorkflowRequest, StartedWorkflow};
use ostler_domain::workflow::WorkflowDefinition;
use serde_json::Value;

use super::definition::read_definition;
use super::follow::FollowedOrg;
use crate::commands::args::OrgArgs;
use crate::screen::{DIM, HEADER};

#[derive(Debug, Args)]
pub(crate) struct WorkflowRunArgs {
    /// TOML file that defines the workflow, or the name of one that the organization keeps
    #[arg(value_name = "FILE|NAME")]
    workflow: String,
    /// Input of the workflow, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &WorkflowRunArgs) -> anyhow::Result<ExitCode> {
    let file = Path::new(&args.workflow);
    // What looks like a file is one, so that a missing file is named as such.
    let is_file = file.is_file() || file.extension().is_some();
    let definition = is_file.then(|| read_definition(file)).transpose()?;
    let input: Value = serde_json::from_str(&args.input).context("--input is not JSON")?;
    let place = FollowedOrg::open(&args.target).await?;
    let request = StartWorkflowRequest {
        definition: definition.as_ref().map(serde_json::to_value).transpose()?,
        workflow: definition.is_none().then(|| args.workflow.clone()),
        input: Some(input),
    };
    let StartedWorkflow { id } = place.org.post(&["workflows"], &request).await?;
    if !args.target.output.json {
        let name = definition.as_ref().map_or(args.workflow.as_str(), WorkflowDefinition::name);
        anstream::println!("{HEADER}{name}{HEADER:#}  {DIM}{id}{DIM:#}");
    }
    place.follow(id, args.target.output.json).await
}
