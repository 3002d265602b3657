//! `ostler model use`.

use clap::Args;
use ostler_api::org::{ChosenModels, ModelChoice};
use serde_json::json;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;
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
    let org = open_org(&args.target).await?;
    let choice = ModelChoice { models: args.names.clone() };
    let ChosenModels { before, models, notes } = org.put(&["models"], &choice).await?;
    for note in &notes {
        anstream::eprintln!("{WARNING}note{WARNING:#}: {note}");
    }
    let done = json!({"org": org.org.id, "before": before, "models": models});
    let name = &org.org.name;
    let text = match &args.names[..] {
        names if *before == *names => format!("{name} has these models already"),
        [] => format!("agents of {name} without a model use the one of the installation"),
        names => format!("agents of {name} without a model use {}", names.join(", then ")),
    };
    print_result(&args.target.output, &done, &text)
}
