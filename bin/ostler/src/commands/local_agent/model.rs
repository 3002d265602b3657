//! The model of a local agent.

use std::sync::Arc;

use ostler_engine::model::Model;
use ostler_engine::turn::Models;
use ostler_models::catalogue::{Catalogue, CatalogueEntry, KeyStatus, Provider, WireFormat};
use ostler_models::openai::LimitField;
use ostler_models::price::PriceSource;
use ostler_scripted::{Script, ScriptedModel};

use super::{LocalAgentArgs, WireArg};
use crate::installation::Installation;
use crate::model_catalogue;
use crate::screen::DIM;

/// The model of an agent, with the catalogue for its subagents.
pub(in crate::commands) struct SelectedModel {
    catalogue: Catalogue,
    name: String,
}

impl SelectedModel {
    pub(in crate::commands) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the models that can be chosen instead, the selected one first.
    pub(in crate::commands) fn choices(&self) -> Vec<String> {
        let usable =
            |entry: &CatalogueEntry| !matches!(entry.key_status, KeyStatus::Missing { .. });
        let others = self.catalogue.entries().into_iter().filter(usable).map(|entry| entry.name);
        let others = others.filter(|name| *name != self.name);
        std::iter::once(self.name.clone()).chain(others).collect()
    }

    /// Returns the same models with what is known about each: the price of a million tokens,
    /// or that it needs a key.
    pub(in crate::commands) fn prices(&self) -> Vec<(String, String)> {
        let described = self.choices().into_iter().map(|name| {
            let detail = self.catalogue.entry(&name).map(|entry| {
                let assumed =
                    if entry.price_source == PriceSource::Assumed { " (assumed)" } else { "" };
                format!("{} in, {} out{assumed}", entry.price.input, entry.price.output)
            });
            (name, detail.unwrap_or_default())
        });
        described.collect()
    }

    /// Makes a model of a script the selected one.
    pub(super) fn scripted(catalogue: Catalogue, script: &str) -> anyhow::Result<Self> {
        let script = Script::parse("welcome.yaml", script)?;
        let catalogue = catalogue.with(SCRIPTED, Arc::new(ScriptedModel::new(script)));
        Ok(Self { catalogue, name: SCRIPTED.to_owned() })
    }
}

impl Models for SelectedModel {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        self.catalogue.model(Some(name.unwrap_or(&self.name)))
    }
}

/// The name of the model that answers from a script.
const SCRIPTED: &str = "scripted";
/// The provider name of the server that `--url` names.
const LOCAL_PROVIDER: &str = "local";

/// Returns the model that the arguments name, or fails if it cannot be used.
pub(in crate::commands) fn select(args: &LocalAgentArgs) -> anyhow::Result<SelectedModel> {
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
            catalogue = catalogue.with(SCRIPTED, Arc::new(ScriptedModel::new(Script::load(file)?)));
            SCRIPTED.to_owned()
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
