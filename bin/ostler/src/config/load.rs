//! Reads the configuration from its layers: file, variables, flags.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::Deserialize as _;
use toml::{Table, Value};

use super::keys::{KEYS, Key, VariableForm};
use super::{
    Config, ConfigError, IdentityProviderConfig, PriceConfig, ProviderConfig, server_limits,
};

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    File,
    /// The name of the variable.
    Variable(&'static str),
    /// The name of the flag, such as `--database`.
    Flag(&'static str),
}

/// Where the value of each key comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sources(BTreeMap<&'static str, Source>);

impl Sources {
    /// Returns where the value of a key comes from.
    pub(crate) fn of(&self, key: &str) -> Source {
        self.0.get(key).copied().unwrap_or(Source::Default)
    }
}

/// A configuration and the sources of its values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadedConfig {
    pub(crate) config: Config,
    pub(crate) sources: Sources,
}

/// The layers of a configuration, the weakest first.
pub(crate) struct Layers<'a> {
    /// The name and the text of `ostler.toml`, if there is one.
    pub(crate) file: Option<(&'a str, &'a str)>,
    /// Returns the value of an environment variable.
    pub(crate) variables: &'a dyn Fn(&str) -> Option<String>,
    /// A key, the name of its flag and the value.
    pub(crate) flags: &'a [(&'static str, &'static str, String)],
}

impl Layers<'_> {
    /// Reads the configuration. The error names the file with line and column, or the variable.
    pub(crate) fn load(&self) -> Result<LoadedConfig, ConfigError> {
        let mut sources = BTreeMap::new();
        let mut table = Table::new();
        if let Some((file, text)) = self.file {
            let located = |error| ConfigError::in_file(file, text, &error);
            toml::from_str::<Config>(text).map_err(located)?;
            table = text.parse().map_err(located)?;
            let set = KEYS.iter().filter(|key| table.contains_key(key.name));
            sources.extend(set.map(|key| (key.name, Source::File)));
        }
        for key in &KEYS {
            let Some(text) = (self.variables)(key.variable).filter(|text| !text.is_empty()) else {
                continue;
            };
            table.insert(key.name.to_owned(), parse_variable(key, &text)?);
            sources.insert(key.name, Source::Variable(key.variable));
        }
        for (key, flag, value) in self.flags {
            table.insert((*key).to_owned(), Value::String(value.clone()));
            sources.insert(key, Source::Flag(flag));
        }
        let name = self.file.map_or("ostler.toml", |(name, _)| name);
        let config = Config::deserialize(table)
            .map_err(|error| ConfigError::new(name, error.message().trim()))?;
        let sources = Sources(sources);
        let place = |key: &str| match sources.of(key) {
            Source::Variable(variable) => variable.to_owned(),
            _ => name.to_owned(),
        };
        config
            .listen
            .iter()
            .try_for_each(|listen| check_listen(listen))
            .map_err(|message| ConfigError::new(place("listen"), message))?;
        config
            .public_url
            .iter()
            .try_for_each(|url| check_public_url(url))
            .map_err(|message| ConfigError::new(place("public_url"), message))?;
        check_providers(&config.provider)
            .map_err(|message| ConfigError::new(place("provider"), message))?;
        server_limits(&config).map_err(|(key, message)| ConfigError::new(place(key), message))?;
        check_identity_providers(&config.identity_provider)
            .map_err(|message| ConfigError::new(place("identity_provider"), message))?;
        check_prices(&config.price).map_err(|message| ConfigError::new(place("price"), message))?;
        Ok(LoadedConfig { config, sources })
    }
}

/// Parses the value of a variable, and checks that its key takes it.
fn parse_variable(key: &Key, text: &str) -> Result<Value, ConfigError> {
    let invalid = |error: toml::de::Error| ConfigError::in_variable(key.variable, &error);
    let value = match key.form {
        VariableForm::Text => Value::String(text.to_owned()),
        VariableForm::List => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
        }
        VariableForm::Toml => {
            let mut table: Table = format!("value = {text}").parse().map_err(invalid)?;
            table.remove("value").unwrap_or(Value::Boolean(false))
        }
    };
    // Every key has a default, so one key alone is a whole configuration.
    let alone: Table = [(key.name.to_owned(), value.clone())].into_iter().collect();
    Config::deserialize(alone).map_err(invalid)?;
    Ok(value)
}

fn check_listen(address: &str) -> Result<(), String> {
    let parts = address.rsplit_once(':');
    match parts.filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
        Some(_) => Ok(()),
        None => Err(format!(
            "`listen` is an address with a port, such as 127.0.0.1:7470, not {address}"
        )),
    }
}

/// Only a browser on the same machine goes without TLS.
fn check_public_url(url: &str) -> Result<(), String> {
    match is_encrypted_or_local(url) {
        true => Ok(()),
        false => Err(format!(
            "`public_url` begins with https://, such as https://ostler.example, not {url}; put a \
             proxy with TLS in front of the server"
        )),
    }
}

/// Returns whether a URL begins with https://, or with http:// and names this machine.
fn is_encrypted_or_local(url: &str) -> bool {
    let rest = |start: &str| url.strip_prefix(start).filter(|rest| !rest.is_empty());
    let Some(rest) = rest("http://") else { return rest("https://").is_some() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn check_identity_providers(providers: &[IdentityProviderConfig]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for IdentityProviderConfig { name, issuer, .. } in providers {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(format!(
                "the identity provider `{name}` needs a name of letters, digits and `-`"
            ));
        }
        if !names.insert(name) {
            return Err(format!("there are two identity providers `{name}`; names are unique"));
        }
        if !is_encrypted_or_local(issuer) {
            return Err(format!(
                "the `issuer` of the identity provider `{name}` begins with https://"
            ));
        }
    }
    Ok(())
}

fn check_providers(providers: &[ProviderConfig]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for ProviderConfig { name, base_url, .. } in providers {
        if name.is_empty() || name.contains(|c: char| c == '/' || c.is_whitespace()) {
            return Err(format!(
                "the provider `{name}` needs a name without spaces and `/`, such as `shop`"
            ));
        }
        if !names.insert(name) {
            return Err(format!("there are two providers `{name}`; names are unique"));
        }
        let address = ["http://", "https://"].iter().find_map(|start| base_url.strip_prefix(start));
        if address.is_none_or(|rest| rest.is_empty() || rest.contains(char::is_whitespace)) {
            return Err(format!(
                "the `base_url` of the provider `{name}` is not a URL such as \
                 http://localhost:9000/v1"
            ));
        }
    }
    Ok(())
}

fn check_prices(prices: &BTreeMap<String, PriceConfig>) -> Result<(), String> {
    let valid = |dollars: f64| (0.0..=1_000_000.0).contains(&dollars);
    for (name, price) in prices {
        let PriceConfig { input, output, cached_input, cache_write } = *price;
        let all = [Some(input), Some(output), cached_input, cache_write];
        if !all.into_iter().flatten().all(valid) {
            return Err(format!("the price of `{name}` is not a valid amount of dollars"));
        }
        if !name.contains('/') {
            return Err(format!(
                "the price of `{name}` needs the whole name of a model, such as `shop/{name}`, \
                 or a provider, such as `{name}/`"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Layers, Source};
    use crate::config::{Config, ConfigError, LoadedConfig};

    fn load(
        text: &str,
        variables: &[(&str, &str)],
        flags: &[(&'static str, &'static str, String)],
    ) -> Result<LoadedConfig, ConfigError> {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Layers { file: Some(("ostler.toml", text)), variables: &find, flags }.load()
    }

    fn error(text: &str, variables: &[(&str, &str)]) -> String {
        load(text, variables, &[]).expect_err("it is refused").to_string()
    }

    #[test]
    fn an_empty_file_is_the_default_configuration() {
        let loaded = load("", &[], &[]).expect("it loads");
        assert_eq!(loaded.config, Config::default());
        assert_eq!(loaded.sources.of("database"), Source::Default);
    }

    #[test]
    fn flags_beat_variables_and_variables_beat_the_file() {
        let text = "database = 'sqlite:a.db'\nlisten = '127.0.0.1:1'\nbus = 'amqp://a'";
        let variables = [("OSTLER_DATABASE_URL", "sqlite:b.db"), ("OSTLER_BUS_URL", "amqp://b")];
        let flags = [("database", "--database", "sqlite:c.db".to_owned())];
        let LoadedConfig { config, sources } = load(text, &variables, &flags).expect("it loads");
        assert_eq!(config.database, "sqlite:c.db");
        assert_eq!(config.bus.as_deref(), Some("amqp://b"));
        assert_eq!(config.listen.as_deref(), Some("127.0.0.1:1"));
        assert_eq!(sources.of("database"), Source::Flag("--database"));
        assert_eq!(sources.of("bus"), Source::Variable("OSTLER_BUS_URL"));
        assert_eq!((sources.of("listen"), sources.of("log")), (Source::File, Source::Default));
    }

    #[test]
    fn variables_hold_texts_lists_and_toml() {
        let provider = "[{ name = 'shop', kind = 'openai', base_url = 'http://localhost:9/v1' }]";
        let variables = [
            ("OSTLER_FALLBACK_MODELS", "a/b, c/d"),
            ("OSTLER_LEASE_TIMEOUT_SECS", "5"),
            ("OSTLER_LOCAL_NETWORK", "true"),
            ("OSTLER_PROVIDER", provider),
            ("OSTLER_PRICE", "{ 'shop/' = { input = 1, output = 2.5 } }"),
            ("OSTLER_MODEL", ""),
        ];
        let config = load("model = 'x/y'", &variables, &[]).expect("it loads").config;
        assert_eq!(config.fallback_models, ["a/b", "c/d"]);
        assert_eq!(config.lease_timeout_secs.map(u32::from), Some(5));
        assert_eq!((config.local_network, config.provider.len()), (true, 1));
        assert_eq!(config.price["shop/"].output, 2.5);
        assert_eq!(config.model.as_deref(), Some("x/y"), "an empty variable is not set");
    }

    #[test]
    fn mistakes_are_reported_at_their_place() {
        for (text, expected) in [
            ("databse = 'x'", "ostler.toml:1:1: no key `databse`; did you mean `database`?"),
            ("bus = 'memory:'\n\nlissten = 'x'", "ostler.toml:3:1: no key `lissten`; did you"),
            ("[[provider]]\nname = 'a'\nurl = 'x'", "ostler.toml:3:1: no key `url`"),
            ("listen = 7470", "ostler.toml:1:10: invalid type: integer `7470`"),
            ("database = ", "ostler.toml:1:12: "),
            ("listen = 'localhost'", "ostler.toml: `listen` is an address with a port"),
            ("public_url = 'http://shop.example'", "ostler.toml: `public_url` begins with https"),
            (
                "[[identity_provider]]\nname = 'a/b'\nissuer = 'https://a'\nclient_id = 'o'",
                "ostler.toml: the identity provider `a/b` needs a name of letters",
            ),
            (
                "[[identity_provider]]\nname = 'a'\nissuer = 'http://a.example'\nclient_id = 'o'",
                "ostler.toml: the `issuer` of the identity provider `a` begins with https",
            ),
            ("public_url = 'shop.example'", "ostler.toml: `public_url` begins with https"),
            (
                "[[provider]]\nname = 'a'\nkind = 'openai'\nbase_url = 'http://a'\nkey = 'sk-1'",
                "ostler.toml:5:7: a secret is referred to by `env:NAME` or `file:PATH`",
            ),
            (
                "[[provider]]\nname = 'a/b'\nkind = 'openai'\nbase_url = 'http://a'",
                "ostler.toml: the provider `a/b` needs a name without",
            ),
            (
                "[[provider]]\nname = 'a'\nkind = 'openai'\nbase_url = 'localhost'",
                "ostler.toml: the `base_url` of the provider `a` is not a URL",
            ),
            ("[price.large]\ninput = 1\noutput = 2", "ostler.toml: the price of `large` needs"),
            ("[price.'a/b']\ninput = -1\noutput = 2", "ostler.toml: the price of `a/b` is not"),
        ] {
            let found = error(text, &[]);
            assert!(found.starts_with(expected), "{text}\n{found}");
        }
        let secret = "[[provider]]\nname = 'a'\nkind = 'openai'\nbase_url = 'x'\nkey = 'sk-1'";
        assert!(!error(secret, &[]).contains("sk-1"));
    }

    #[test]
    fn a_mistake_in_a_variable_names_the_variable() {
        for (variable, value, expected) in [
            ("OSTLER_LEASE_TIMEOUT_SECS", "soon", "OSTLER_LEASE_TIMEOUT_SECS: "),
            ("OSTLER_LEASE_TIMEOUT_SECS", "0", "OSTLER_LEASE_TIMEOUT_SECS: invalid value"),
            ("OSTLER_PROVIDER", "[{ name = 'a', url = 'x' }]", "OSTLER_PROVIDER: no key `url`"),
            ("OSTLER_PRICE", "{ a = { input = 1, output = 2 } }", "OSTLER_PRICE: the price of"),
        ] {
            let found = error("", &[(variable, value)]);
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
