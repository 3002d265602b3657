//! What models cost, as data: `prices.toml`, and what an operator adds to it.

use std::collections::BTreeMap;

use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use serde::Deserialize;

/// The prices that come with the program.
const BUILT_IN: &str = include_str!("prices.toml");

/// Prices by the beginnings of names: `provider/model`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceList {
    prices: BTreeMap<String, ModelPrice>,
    default: ModelPrice,
}

/// What a price is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The list.
    Listed,
    /// The model is not listed, and this is the default.
    Assumed,
}

/// Why prices cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadPrices {
    /// They are no TOML of the right form.
    #[error("the prices cannot be read: {0}")]
    Toml(#[from] toml::de::Error),
    /// One is none.
    #[error("the price of `{0}` is no amount of dollars")]
    Amount(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default: Option<Entry>,
    #[serde(default)]
    models: BTreeMap<String, Entry>,
}

/// Dollars per million tokens, as people write them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    input: f64,
    output: f64,
    cached_input: Option<f64>,
    cache_write: Option<f64>,
}

impl PriceList {
    /// The prices that come with the program.
    pub fn built_in() -> Result<Self, BadPrices> {
        let nothing = Usd::from_micros(0);
        let default = ModelPrice::new(nothing, nothing);
        Self { prices: BTreeMap::new(), default }.with(BUILT_IN)
    }

    /// The same with others, in the form of `prices.toml`; those win.
    pub fn with(mut self, text: &str) -> Result<Self, BadPrices> {
        let file: File = toml::from_str(text)?;
        if let Some(default) = &file.default {
            self.default = price("default", default)?;
        }
        for (name, entry) in &file.models {
            self.prices.insert(name.clone(), price(name, entry)?);
        }
        Ok(self)
    }

    /// What a model costs: the longest beginning of its name that is listed
    /// counts. A model behind a reseller costs what its maker takes, unless the
    /// reseller is listed.
    pub fn find(&self, name: &str) -> (ModelPrice, Known) {
        let maker = name.split_once('/').map(|(_, model)| model).filter(|rest| rest.contains('/'));
        let listed = self.longest(name).or_else(|| self.longest(maker?));
        listed.map_or((self.default, Known::Assumed), |price| (price, Known::Listed))
    }

    /// What people should be told about the price of a model.
    pub fn warning(&self, name: &str) -> Option<String> {
        let (price, known) = self.find(name);
        (known == Known::Assumed).then(|| {
            format!(
                "The price of {name} is not known; {} for a million tokens in and {} out are \
                 assumed. Set its price in the configuration.",
                price.input, price.output
            )
        })
    }

    /// The names that are listed and are whole: those that end in `/` stand for
    /// all of a provider.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.prices.keys().map(String::as_str).filter(|name| !name.ends_with('/'))
    }

    fn longest(&self, name: &str) -> Option<ModelPrice> {
        let listed = self.prices.iter().filter(|(start, _)| name.starts_with(start.as_str()));
        listed.max_by_key(|(start, _)| start.len()).map(|(_, price)| *price)
    }
}

fn price(name: &str, entry: &Entry) -> Result<ModelPrice, BadPrices> {
    const MOST: f64 = 1_000_000.0;
    let usd = |dollars: f64| {
        let sound = (0.0..=MOST).contains(&dollars);
        let micros = sound.then(|| (dollars * 1_000_000.0).round() as u64);
        micros.map(Usd::from_micros).ok_or_else(|| BadPrices::Amount(name.to_owned()))
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
    use super::{Known, PriceList};
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
    fn the_longest_beginning_of_a_name_counts() {
        let list = PriceList::built_in().unwrap().with(OWN).unwrap();
        let check = |name: &str, micros: u64, known: Known| {
            let (price, found) = list.find(name);
            assert_eq!((price.input, found), (Usd::from_micros(micros), known), "{name}");
        };
        check("acme/large", 3_000_000, Known::Listed);
        check("acme/large-2026-01-01", 3_000_000, Known::Listed);
        check("acme/large-mini-2026", 150_000, Known::Listed);
        check("reseller/acme/large", 3_000_000, Known::Listed);
        check("local/any/model", 0, Known::Listed);
        check("acme/other", 1_000_000, Known::Assumed);
        check("large", 1_000_000, Known::Assumed);
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
    fn what_comes_with_the_program_is_sound() {
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
        assert_eq!(through.1, Known::Listed);
    }

    #[test]
    fn a_wrong_price_is_refused() {
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
