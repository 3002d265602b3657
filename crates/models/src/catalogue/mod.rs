//! The catalogue: models by name (`provider/model`), whether their keys are set,
//! how often they were used, and how their clients are built.

mod chains;
mod provider;
mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::Model;
use ostler_engine::secret;
use ostler_engine::turn::Models;

pub use chains::SharedCatalogue;
pub use provider::{Provider, WireFormat};
pub use usage::UsageCounts;

use crate::cooldown::Cooldowns;
use crate::fallback::{ChainEntry, Fallback};
use crate::http::Http;
use crate::jitter::Jitter;
use crate::metrics::{MeasuredModel, ModelMetrics};
use crate::modalities::ModalityFilter;
use crate::price::{PriceList, PriceSource};
use crate::retry::RetryingModel;
use usage::CountedModel;

/// The settings of a catalogue.
#[derive(Debug, Clone)]
pub struct Options {
    pub http: Http,
    /// If two have the same name, the later one is used.
    pub providers: Vec<Provider>,
    pub prices: PriceList,
    /// The model used where none is named.
    pub default: Option<String>,
    /// Models asked, in this order, when a model has failed after all retries.
    pub fallbacks: Vec<String>,
    pub jitter: Jitter,
    pub cooldowns: Cooldowns,
    /// The counts to start with.
    pub usage: UsageCounts,
    pub metrics: ModelMetrics,
}

/// Models by name.
pub struct Catalogue {
    options: Options,
    providers: BTreeMap<String, Provider>,
    /// Models added with [`Catalogue::with`].
    preset: BTreeMap<String, Arc<dyn Model>>,
}

/// A model of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// `provider/model`.
    pub name: String,
    pub provider: String,
    pub key_status: KeyStatus,
    /// How often the model was asked.
    pub uses: u64,
    pub price: ModelPrice,
    pub price_source: PriceSource,
}

/// Whether the API key of a model is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyStatus {
    /// The key is set. Only a call shows whether it is valid.
    KeyPresent,
    NotNeeded,
    Missing {
        /// How to set the key.
        how: String,
    },
}

/// The reason why a model cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// No such provider is configured.
    #[error(
        "unknown model `{name}`; models are named `provider/model`, with one of these providers: {known}"
    )]
    Unknown { name: String, known: String },
    #[error("`{name}` has no key: {how}")]
    NoKey {
        name: String,
        /// How to set the key.
        how: String,
    },
    /// Neither the agent nor the installation names a model.
    #[error("no model is named; set `model` in ostler.toml, or name one for the agent")]
    NoModel,
}

impl Catalogue {
    /// Creates a catalogue.
    pub fn new(mut options: Options) -> Self {
        let providers = std::mem::take(&mut options.providers);
        let providers = providers.into_iter().map(|provider| (provider.name.clone(), provider));
        Self { providers: providers.collect(), preset: BTreeMap::new(), options }
    }

    /// Adds a model that needs no client and no key.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.preset.insert(name.into(), model);
        self
    }

    /// Returns every model known by name. Other models of a configured provider can be
    /// used as well.
    pub fn entries(&self) -> Vec<CatalogueEntry> {
        let listed = self.options.prices.models().map(str::to_owned);
        let configured = self.providers.values().flat_map(|provider| {
            provider.models.iter().map(|model| format!("{}/{model}", provider.name))
        });
        let named = self.options.default.iter().chain(&self.options.fallbacks).cloned();
        let names: BTreeSet<String> = listed
            .chain(configured)
            .chain(named)
            .chain(self.preset.keys().cloned())
            .chain(self.options.usage.all().into_keys())
            .collect();
        names.iter().filter_map(|name| self.entry(name)).collect()
    }

    /// Returns what is known about a model; `None` if its provider is not configured.
    pub fn entry(&self, name: &str) -> Option<CatalogueEntry> {
        let key_status = self.key_status(name)?;
        let (price, price_source) = match self.preset.get(name) {
            Some(model) => (model.price(), PriceSource::Listed),
            None => self.options.prices.find(name),
        };
        let provider = name.split('/').next().unwrap_or_default().to_owned();
        let uses = self.options.usage.get(name);
        Some(CatalogueEntry {
            name: name.to_owned(),
            provider,
            key_status,
            uses,
            price,
            price_source,
        })
    }

    /// Checks that a model can be used; the error says what to do.
    pub fn check(&self, name: &str) -> Result<(), CatalogueError> {
        match self.key_status(name) {
            Some(KeyStatus::KeyPresent | KeyStatus::NotNeeded) => Ok(()),
            Some(KeyStatus::Missing { how }) => {
                Err(CatalogueError::NoKey { name: name.to_owned(), how })
            }
            None => {
                let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
                Err(CatalogueError::Unknown { name: name.to_owned(), known: known.join(", ") })
            }
        }
    }

    /// Returns the address of a model's provider; `None` if it has none or is unknown.
    pub fn base_url(&self, name: &str) -> Option<&str> {
        let preset = self.preset.contains_key(name);
        self.provider(name).filter(|_| !preset).map(|(provider, _)| provider.base_url.as_str())
    }

    /// Returns the model used where none is named.
    pub fn default_model(&self) -> Option<&str> {
        self.options.default.as_deref()
    }

    /// Returns a warning if the price of a model is assumed.
    pub fn price_warning(&self, name: &str) -> Option<String> {
        let listed = self.preset.contains_key(name);
        if listed { None } else { self.options.prices.warning(name) }
    }

    /// Returns what is measured of the models.
    pub const fn metrics(&self) -> &ModelMetrics {
        &self.options.metrics
    }

    /// Returns how often each model was asked, to store it.
    pub fn usage(&self) -> BTreeMap<String, u64> {
        self.options.usage.all()
    }

    /// Returns a chain of models, best first. Unknown models are left out; `None` if
    /// the first is unknown.
    pub fn chain<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<Arc<dyn Model>> {
        let mut names = names.into_iter();
        let first = self.chain_entry(names.next()?)?;
        let rest = names.filter_map(|name| self.chain_entry(name));
        let entries = std::iter::once(first).chain(rest);
        Some(Arc::new(Fallback::new(entries, self.options.cooldowns.clone())))
    }

    fn key_status(&self, name: &str) -> Option<KeyStatus> {
        if self.preset.contains_key(name) {
            return Some(KeyStatus::NotNeeded);
        }
        let (provider, _) = self.provider(name)?;
        Some(match provider.key.as_ref().map(secret::read_key) {
            None => KeyStatus::NotNeeded,
            Some(Ok(_)) => KeyStatus::KeyPresent,
            Some(Err(error)) => KeyStatus::Missing { how: error.to_string() },
        })
    }

    /// Returns the provider of a model, and the provider's name for it.
    fn provider<'n>(&self, name: &'n str) -> Option<(&Provider, &'n str)> {
        let (provider, model) = name.split_once('/').filter(|(_, model)| !model.is_empty())?;
        Some((self.providers.get(provider)?, model))
    }

    /// Returns a model without retries and fallbacks, to try it. `None` if it is unknown.
    pub fn single(&self, name: &str) -> Option<Arc<dyn Model>> {
        self.client(name).map(|(model, _)| model)
    }

    /// Returns the client of a model, and the key of its cooldowns.
    fn client(&self, name: &str) -> Option<(Arc<dyn Model>, String)> {
        if let Some(model) = self.preset.get(name) {
            return Some((model.clone(), name.to_owned()));
        }
        let (provider, model) = self.provider(name)?;
        let price = self.options.prices.find(name).0;
        let client = provider.client(self.options.http.clone(), name, model, price);
        let client: Arc<dyn Model> =
            Arc::new(ModalityFilter::new(client, provider.modalities(model)));
        Some((client, provider.cooldown_key()))
    }

    /// Builds a model with retries and usage counting.
    fn chain_entry(&self, name: &str) -> Option<ChainEntry> {
        let (model, key) = self.client(name)?;
        let model = Arc::new(MeasuredModel::new(name, model, self.options.metrics.clone()));
        let model = Arc::new(RetryingModel::new(name, model, self.options.jitter.clone()));
        let model = Arc::new(CountedModel::new(name, model, self.options.usage.clone()));
        Some(ChainEntry { name: name.to_owned(), model, key })
    }
}

impl Models for Catalogue {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        let name = name.or(self.options.default.as_deref())?;
        let others = self.options.fallbacks.iter().map(String::as_str);
        self.chain(std::iter::once(name).chain(others.filter(|other| *other != name)))
    }
}
