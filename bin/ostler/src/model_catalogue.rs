//! The models that an installation can use: built-in and configured providers, and the
//! script.

use std::sync::Arc;

use ostler_models::catalogue::{Catalogue, Options, Provider, UsageCounts, WireFormat};
use ostler_models::cooldown::{CooldownClock, Cooldowns};
use ostler_models::http::{ClientLimits, Http};
use ostler_models::jitter::Jitter;
use ostler_models::metrics::ModelMetrics;
use ostler_models::openai::LimitField;
use ostler_models::price::{PriceEntry, PriceList};
use ostler_scripted::{Script, ScriptedModel};

use crate::config::{PriceConfig, ProviderConfig, ProviderKind};
use crate::installation::Installation;

/// The name of the model that answers from the script.
const SCRIPTED: &str = "scripted";

/// Builds the catalogue of models.
pub(crate) fn build(installation: &Installation) -> anyhow::Result<Catalogue> {
    build_with(installation, options(installation)?)
}

/// Builds the catalogue of models with other options than the configured ones.
pub(crate) fn build_with(
    installation: &Installation,
    mut options: Options,
) -> anyhow::Result<Catalogue> {
    let script = installation.script_path();
    let Some(script) = script.as_deref().map(Script::load).transpose()? else {
        return Ok(Catalogue::new(options));
    };
    options.default.get_or_insert_with(|| SCRIPTED.to_owned());
    Ok(Catalogue::new(options).with(SCRIPTED, Arc::new(ScriptedModel::new(script))))
}

/// Returns the configured providers, prices, default model and fallbacks.
pub(crate) fn options(installation: &Installation) -> anyhow::Result<Options> {
    let config = &installation.config;
    let mut providers = Provider::built_in();
    providers.extend(config.provider.iter().map(|one| provider(installation, one)));
    let mut prices = PriceList::built_in()?;
    for (name, price) in &config.price {
        prices.set(name, &price_entry(*price))?;
    }
    Ok(Options {
        http: Http::new(ClientLimits::default())?,
        providers,
        prices,
        default: config.model.clone(),
        fallbacks: config.fallback_models.clone(),
        jitter: Jitter::random(),
        cooldowns: Cooldowns::new(CooldownClock::system()),
        usage: UsageCounts::default(),
        metrics: ModelMetrics::default(),
    })
}

fn provider(installation: &Installation, config: &ProviderConfig) -> Provider {
    let wire = match config.kind {
        // Only OpenAI itself needs the newer field.
        ProviderKind::Openai if config.name == "openai" => {
            WireFormat::OpenAi(LimitField::MaxCompletionTokens)
        }
        ProviderKind::Openai => WireFormat::OpenAi(LimitField::MaxTokens),
        ProviderKind::Anthropic => WireFormat::Anthropic,
    };
    Provider {
        key: config.key.as_ref().map(|key| installation.resolve_secret(key)),
        models: config.models.clone(),
        text_only: config.text_only.clone(),
        ..Provider::new(&config.name, wire, &config.base_url)
    }
}

const fn price_entry(price: PriceConfig) -> PriceEntry {
    let PriceConfig { input, output, cached_input, cache_write } = price;
    PriceEntry { input, output, cached_input, cache_write }
}
