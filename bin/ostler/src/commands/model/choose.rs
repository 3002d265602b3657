//! `ostler model use`.

use anyhow::bail;
use clap::Args;
use ostler_models::catalogue::CatalogueError;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};
use crate::model_catalogue;
use crate::screen::WARNING;

#[derive(Debug, Args)]
pub(crate) struct ModelUseArgs {
    /// Models, as provider/model, in order of preference; the later ones are fallbacks
    #[arg(value_name = "NAME", required_unless_present = "default")]
    names: Vec<String>,
    /// Use the model of the installation again
    #[arg(long, conflicts_with = "names")]
    default: bool,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ModelUseArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let catalogue = model_catalogue::build(&operator.installation)?;
    for name in &args.names {
        match catalogue.check(name) {
            Ok(()) => {}
            // The key may be set where the agents run.
            Err(error @ CatalogueError::NoKey { .. }) => {
                anstream::eprintln!("{WARNING}note{WARNING:#}: {error}");
            }
            Err(error) => bail!(error),
        }
    }
    let before = operator.org(&org).set_models(args.names.clone()).await?;
    let done = json!({"org": org.id, "before": before, "models": args.names});
    let text = match &args.names[..] {
        names if before == names => format!("{} has these models already", org.name),
        [] => format!("agents of {} without a model use the one of the installation", org.name),
        names => format!("agents of {} without a model use {}", org.name, names.join(", then ")),
    };
    print_result(&args.target.output, &done, &text)
}
