//! Model prices: `prices.toml`, and what an operator adds to it.

use std::collections::BTreeMap;

use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use serde::Deserialize;

const BUILT_IN: &str = include_str!("prices.toml");

/// Prices by prefix of a model name (`provider/model`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceList {
    prices: BTreeMap<String, ModelPrice>,
    default: ModelPrice,
}

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceSource {
    Listed,
    /// The default price; the model is not listed.
    Assumed,
}

/// The reason why a price list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceListError {
    #[error("the prices cannot be read: {0}")]
    Toml(#[from] toml::de::Error),
    #[error("the price of `{0}` is not a valid amount of dollars")]
    Amount(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default: Option<PriceEntry>,
    #[serde(default)]
    models: BTreeMap<String, PriceEntry>,
}

/// The price of a model as people write it: dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceEntry {
    pub input: f64,
    pub output: f64,
    /// As `input` if it is missing.
    pub cached_input: Option<f64>,
    /// As `input` if it is missing.
    pub cache_write: Option<f64>,
}

impl PriceList {
    /// Returns the built-in prices.
    pub fn built_in() -> Result<Self, PriceListError> {
        let zero = Usd::from_micros(0);
        let default = ModelPrice::new(zero, zero);
        Self { prices: BTreeMap::new(), default }.with(BUILT_IN)
    }

    /// Adds prices in the format of `prices.toml`; they override existing ones.
    pub fn with(mut self, text: &str) -> Result<Self, PriceListError> {
        let file: File = toml::from_str(text)?;
        if let Some(default) = &file.default {
            self.default = price("default", default)?;
        }
        for (name, entry) in &file.models {
            self.set(name, entry)?;
        }
        Ok(self)
    }

    /// Sets the price of the models whose names begin with this. Fails if an amount is not
    /// valid.
    pub fn set(&mut self, name: &str, entry: &PriceEntry) -> Result<(), PriceListError> {
        self.prices.insert(name.to_owned(), price(name, entry)?);
        Ok(())
    }

    /// Returns the price of a model: that of the longest listed prefix of its name. A
    /// model behind a reseller costs what its maker charges, unless the reseller is
    /// listed.
    pub fn find(&self, name: &str) -> (ModelPrice, PriceSource) {
        let maker = name.split_once('/').map(|(_, model)| model).filter(|rest| rest.contains('/'));
        let listed = self.longest_match(name).or_else(|| self.longest_match(maker?));
        listed.map_or((self.default, PriceSource::Assumed), |price| (price, PriceSource::Listed))
    }

    /// Returns a warning if the price of a model is assumed.
    pub fn warning(&self, name: &str) -> Option<String> {
        let (price, source) = self.find(name);
        (source == PriceSource::Assumed).then(|| {
            format!(
                "The price of {name} is not known; {} for a million tokens in and {} out are \
                 assumed. Set `[price.\"{name}\"]` in ostler.toml.",
                price.input, price.output
            )
        })
    }

    /// Returns the listed model names, without prefixes that end in `/` and stand for a
    /// whole provider.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.prices.keys().map(String::as_str).filter(|name| !name.ends_with('/'))
    }

    fn longest_match(&self, name: &str) -> Option<ModelPrice> {
        let listed = self.prices.iter().filter(|(start, _)| name.starts_with(start.as_str()));
        listed.max_by_key(|(start, _)| start.len()).map(|(_, price)| *price)
    }
}

fn price(name: &str, entry: &PriceEntry) -> Result<ModelPrice, PriceListError> {
    const MAX_DOLLARS: f64 = 1_000_000.0;
    let usd = |dollars: f64| {
        let sound = (0.0..=MAX_DOLLARS).contains(&dollars);
        let micros = sound.then(|| (dollars * 1_000_000.0).round() as u64);
        micros.map(Usd::from_micros).ok_or_else(|| PriceListError::Amount(name.to_owned()))
    };
    Ok(ModelPrice {
        input: usd(entry.input)?,
        output: usd(entry.output)?,
        cached_input: entry.cached_input.map(usd).transpose()?,
        cache_write: entry.cache_write.map(usd).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::{PriceList, PriceSource};
    use ostler_domain::money::Usd;

    const OWN: &str = r#"
        [default]
        input = 1
        output = 2.5
        [models."acme/large"]
        input = 3
        output = 15
        cached_input = 0.3
        [models."acme/large-mini"]
        input = 0.15
        output = 0.6
        [models."local/"]
        input = 0
        output = 0
    "#;

    #[test]
    fn the_longest_listed_prefix_decides_the_price() {
        let list = PriceList::built_in().unwrap().with(OWN).unwrap();
        let check = |name: &str, micros: u64, known: PriceSource| {
            let (price, found) = list.find(name);
            assert_eq!((price.input, found), (Usd::from_micros(micros), known), "{name}");
        };
        check("acme/large", 3_000_000, PriceSource::Listed);
        check("acme/large-2026-01-01", 3_000_000, PriceSource::Listed);
        check("acme/large-mini-2026", 150_000, PriceSource::Listed);
        check("reseller/acme/large", 3_000_000, PriceSource::Listed);
        check("local/any/model", 0, PriceSource::Listed);
        check("acme/other", 1_000_000, PriceSource::Assumed);
        check("large", 1_000_000, PriceSource::Assumed);
        assert_eq!(list.find("acme/large").0.cached_input, Some(Usd::from_micros(300_000)));
    }

    #[test]
    fn an_unknown_price_is_assumed_with_a_warning() {
        let list = PriceList::built_in().unwrap().with(OWN).unwrap();
        assert_eq!(list.warning("acme/large"), None);
        let warning = list.warning("acme/other").unwrap();
        assert!(
            warning.starts_with("The price of acme/other is not known; $1.00 for"),
            "{warning}"
        );
    }

    #[test]
    fn the_built_in_prices_are_valid() {
        let list = PriceList::built_in().unwrap();
        assert!(list.default.output > Usd::from_micros(0));
        assert!(list.models().count() > 20);
        assert_eq!(list.find("ollama/llama3").0.output, Usd::from_micros(0));
        let claude = list.find("anthropic/claude-sonnet-4-5").0;
        assert!(
            claude.cached_input < Some(claude.input) && claude.cache_write > Some(claude.input)
        );
        let through = list.find("openrouter/anthropic/claude-sonnet-4");
        assert_eq!(through, list.find("anthropic/claude-sonnet-4"));
        assert_eq!(through.1, PriceSource::Listed);
    }

    #[test]
    fn invalid_prices_are_rejected() {
        for text in [
            "[models.x]\ninput = -1\noutput = 1",
            "[models.x]\ninput = nan\noutput = 1",
            "[models.x]\ninput = 1",
            "[models.x]\ninput = 1\noutput = 1\nouput = 2",
            "[model.x]\ninput = 1\noutput = 1",
        ] {
            assert!(PriceList::built_in().unwrap().with(text).is_err(), "{text}");
        }
    }
}
