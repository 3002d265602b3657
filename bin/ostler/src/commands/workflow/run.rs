//! `ostler workflow run`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use ostler_domain::workflow::WorkflowDefinition;
use serde_json::Value;

use super::resume;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::screen::{DIM, HEADER};

#[derive(Debug, Args)]
pub(crate) struct WorkflowRunArgs {
    /// TOML file that defines the workflow
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Input of the workflow, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &WorkflowRunArgs) -> anyhow::Result<ExitCode> {
    let name = args.file.display();
    let text =
        std::fs::read_to_string(&args.file).with_context(|| format!("cannot read {name}"))?;
    let definition: WorkflowDefinition =
        toml::from_str(&text).with_context(|| format!("{name} is not a workflow definition"))?;
    let input: Value = serde_json::from_str(&args.input).context("--input is not JSON")?;
    let (operator, org) = open_org(&args.target).await?;
    let id = operator.org(&org).start_workflow(&definition, &input).await?;
    if !args.target.output.json {
        anstream::println!("{HEADER}{}{HEADER:#}  {DIM}{id}{DIM:#}", definition.name());
    }
    resume::follow(&operator, &org, id, args.target.output.json).await
}
