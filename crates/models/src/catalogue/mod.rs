//! Models by name, `provider/model`: which there are, whether their key is
//! there, how often they were used, and how each is made.

mod chains;
mod provider;
mod uses;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::Model;
use ostler_engine::secret;
use ostler_engine::turn::Models;

pub use chains::SharedCatalogue;
pub use provider::{Provider, Wire};
pub use uses::Uses;

use crate::chance::Chance;
use crate::cooldown::Cooldowns;
use crate::fallback::{Fallback, Link};
use crate::http::Http;
use crate::price::{Known, PriceList};
use crate::retry::Retrying;
use crate::senses::Within;
use uses::Counted;

/// What a catalogue is made of.
#[derive(Debug, Clone)]
pub struct Options {
    /// The connections.
    pub http: Http,
    /// The providers; a later one of the same name wins.
    pub providers: Vec<Provider>,
    /// What models cost.
    pub prices: PriceList,
    /// The model that is used where none is named.
    pub default: Option<String>,
    /// What is asked, in this order, when a model fails for good.
    pub fallbacks: Vec<String>,
    /// What varies waits.
    pub chance: Chance,
    /// Which keys rest.
    pub cooldowns: Cooldowns,
    /// How often models were used before.
    pub uses: Uses,
}

/// Models by name.
pub struct Catalogue {
    options: Options,
    providers: BTreeMap<String, Provider>,
    /// Models that are there already, by their names.
    ready: BTreeMap<String, Arc<dyn Model>>,
}

/// A model of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name: `provider/model`.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// Whether it can be used.
    pub auth: Auth,
    /// How often it was used.
    pub uses: u64,
    /// What it costs.
    pub price: ModelPrice,
    /// Whether that is known.
    pub price_known: Known,
}

/// Whether a model can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// Its key is there. Whether it is right, only a call tells.
    KeyPresent,
    /// It wants no key.
    NotNeeded,
    /// Its key is missing.
    Missing {
        /// How to set it.
        how: String,
    },
}

/// Why there is no such model, or why it cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The name names no provider that is configured.
    #[error("there is no model `{name}`; models are named `provider/model`, with one of: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The providers.
        known: String,
    },
    /// Its key is missing.
    #[error("`{name}` has no key: {how}")]
    NoKey {
        /// The name.
        name: String,
        /// How to set it.
        how: String,
    },
}

impl Catalogue {
    /// A catalogue.
    pub fn new(mut options: Options) -> Self {
        let providers = std::mem::take(&mut options.providers);
        let providers = providers.into_iter().map(|provider| (provider.name.clone(), provider));
        Self { providers: providers.collect(), ready: BTreeMap::new(), options }
    }

    /// The same with a model that is there already and wants no key.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.ready.insert(name.into(), model);
        self
    }

    /// Every model that is known by name. A provider has others too, and each can
    /// be used.
    pub fn entries(&self) -> Vec<Entry> {
        let listed = self.options.prices.models().map(str::to_owned);
        let configured = self.providers.values().flat_map(|provider| {
            provider.models.iter().map(|model| format!("{}/{model}", provider.name))
        });
        let named = self.options.default.iter().chain(&self.options.fallbacks).cloned();
        let names: BTreeSet<String> = listed
            .chain(configured)
            .chain(named)
            .chain(self.ready.keys().cloned())
            .chain(self.options.uses.all().into_keys())
            .collect();
        names.iter().filter_map(|name| self.entry(name)).collect()
    }

    /// What is known of a model; none if there is no such provider.
    pub fn entry(&self, name: &str) -> Option<Entry> {
        let auth = self.auth(name)?;
        let (price, price_known) = match self.ready.get(name) {
            Some(model) => (model.price(), Known::Listed),
            None => self.options.prices.find(name),
        };
        let provider = name.split('/').next().unwrap_or_default().to_owned();
        let uses = self.options.uses.of(name);
        Some(Entry { name: name.to_owned(), provider, auth, uses, price, price_known })
    }

    /// Whether a model can be switched to; if not, the error says what to do.
    pub fn check(&self, name: &str) -> Result<(), Unusable> {
        match self.auth(name) {
            Some(Auth::KeyPresent | Auth::NotNeeded) => Ok(()),
            Some(Auth::Missing { how }) => Err(Unusable::NoKey { name: name.to_owned(), how }),
            None => {
                let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
                Err(Unusable::Unknown { name: name.to_owned(), known: known.join(", ") })
            }
        }
    }

    /// What people should be told about the price of a model.
    pub fn price_warning(&self, name: &str) -> Option<String> {
        let listed = self.ready.contains_key(name);
        if listed { None } else { self.options.prices.warning(name) }
    }

    /// How often models were used, for whoever keeps that.
    pub fn uses(&self) -> BTreeMap<String, u64> {
        self.options.uses.all()
    }

    /// A chain of models, best first, those that there are not left out; none if
    /// the first is one of them.
    pub fn chain<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<Arc<dyn Model>> {
        let mut names = names.into_iter();
        let first = self.link(names.next()?)?;
        let rest = names.filter_map(|name| self.link(name));
        let links = std::iter::once(first).chain(rest);
        Some(Arc::new(Fallback::new(links, self.options.cooldowns.clone())))
    }

    fn auth(&self, name: &str) -> Option<Auth> {
        if self.ready.contains_key(name) {
            return Some(Auth::NotNeeded);
        }
        let (provider, _) = self.provider(name)?;
        Some(match provider.key.as_ref().map(secret::read_key) {
            None => Auth::NotNeeded,
            Some(Ok(_)) => Auth::KeyPresent,
            Some(Err(error)) => Auth::Missing { how: error.to_string() },
        })
    }

    /// The provider of a model, and what it calls it.
    fn provider<'n>(&self, name: &'n str) -> Option<(&Provider, &'n str)> {
        let (provider, model) = name.split_once('/').filter(|(_, model)| !model.is_empty())?;
        Some((self.providers.get(provider)?, model))
    }

    /// A model as it stands in a chain: asked again when it fails, and counted.
    fn link(&self, name: &str) -> Option<Link> {
        let (model, key) = match self.ready.get(name) {
            Some(model) => (model.clone(), name.to_owned()),
            None => {
                let (provider, model) = self.provider(name)?;
                let price = self.options.prices.find(name).0;
                let client = provider.client(self.options.http.clone(), name, model, price);
                let client: Arc<dyn Model> = Arc::new(Within::new(client, provider.senses(model)));
                (client, provider.cooldown_key())
            }
        };
        let model = Arc::new(Retrying::new(name, model, self.options.chance.clone()));
        let model = Arc::new(Counted::new(name, model, self.options.uses.clone()));
        Some(Link { name: name.to_owned(), model, key })
    }
}

impl Models for Catalogue {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        let name = name.or(self.options.default.as_deref())?;
        let others = self.options.fallbacks.iter().map(String::as_str);
        self.chain(std::iter::once(name).chain(others.filter(|other| *other != name)))
    }
}
