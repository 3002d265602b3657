//! `ostler workflow run`.

use std::process::ExitCode;

use anyhow::Context as _;
use ostler_domain::workflow::Definition;
use serde_json::Value;

use super::{follow, open};
use crate::cli::workflow::Run;
use crate::screen::{HEADER, QUIET};

pub(super) async fn run(command: &Run) -> anyhow::Result<ExitCode> {
    let name = command.file.display();
    let text =
        std::fs::read_to_string(&command.file).with_context(|| format!("cannot read {name}"))?;
    let definition: Definition =
        toml::from_str(&text).with_context(|| format!("{name} is no workflow"))?;
    let input: Value = serde_json::from_str(&command.input).context("--input is not JSON")?;
    let (desk, org) = open(&command.place).await?;
    let id = desk.office(&org).start_workflow(&definition, &input).await?;
    if !command.place.output.json {
        anstream::println!("{HEADER}{}{HEADER:#}  {QUIET}{id}{QUIET:#}", definition.name());
    }
    follow::until_it_rests(&desk, &org, id, command.place.output.json).await
}
