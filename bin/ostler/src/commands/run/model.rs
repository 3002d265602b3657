//! The model of a run.

use std::sync::Arc;

use ostler_engine::model::Model;
use ostler_engine::turn::Models;
use ostler_models::catalogue::{Catalogue, Provider, WireFormat};
use ostler_models::openai::LimitField;
use ostler_scripted::{Script, ScriptedModel};

use super::{RunArgs, WireArg};
use crate::installation::Installation;
use crate::model_catalogue;
use crate::screen::DIM;

/// The model of a run, with the catalogue for its subagents.
pub(super) struct SelectedModel {
    catalogue: Catalogue,
    name: String,
}

impl SelectedModel {
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Models for SelectedModel {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        self.catalogue.model(Some(name.unwrap_or(&self.name)))
    }
}

/// The provider name of the server that `--url` names.
const LOCAL_PROVIDER: &str = "local";

/// Returns the model that the arguments name, or fails if it cannot be used.
pub(super) fn select(args: &RunArgs) -> anyhow::Result<SelectedModel> {
    let installation = Installation::find_optional(args.home.as_deref())?;
    let mut options = model_catalogue::options(&installation)?;
    // Nobody but the named model is to answer.
    options.fallbacks.clear();
    if let Some(url) = &args.url {
        let wire = match args.wire {
            WireArg::Openai => WireFormat::OpenAi(LimitField::MaxTokens),
            WireArg::Anthropic => WireFormat::Anthropic,
        };
        options.providers.push(Provider::new(LOCAL_PROVIDER, wire, url));
    }
    let mut catalogue = Catalogue::new(options);
    let configured = installation.config.model.as_ref();
    let name = match (&args.script, args.model.as_ref().or(configured)) {
        (Some(file), _) => {
            catalogue =
                catalogue.with("scripted", Arc::new(ScriptedModel::new(Script::load(file)?)));
            "scripted".to_owned()
        }
        (None, Some(name)) if args.url.is_some() => format!("{LOCAL_PROVIDER}/{name}"),
        (None, Some(name)) => name.clone(),
        (None, None) => anyhow::bail!(
            "no model: name one with --model (such as anthropic/claude-sonnet-4-5), \
             or answer from a script with --script examples/scripts/support.yaml"
        ),
    };
    catalogue.check(&name)?;
    if let Some(warning) = catalogue.price_warning(&name) {
        anstream::eprintln!("{DIM}{warning}{DIM:#}");
    }
    Ok(SelectedModel { catalogue, name })
}
