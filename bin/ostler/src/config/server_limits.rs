//! The limits of the server that the configuration sets.

use ostler_domain::rate_limit::{RateRule, RateSubject};
use ostler_server::ServerLimits;
use ostler_server::client_address::TrustedProxies;

use super::Config;

/// Returns the limits of the server, or the key with a mistake and what is wrong with it.
pub(crate) fn server_limits(config: &Config) -> Result<ServerLimits, (&'static str, String)> {
    let mut limits = ServerLimits::default();
    if let Some(proxies) = &config.trusted_proxies {
        let networks = proxies.iter().map(|text| text.parse()).collect::<Result<_, _>>();
        let networks = networks.map_err(|error| {
            ("trusted_proxies", format!("`trusted_proxies` is not valid: {error}"))
        })?;
        limits.trusted_proxies = TrustedProxies::new(networks);
    }
    for (name, rate) in &config.rate_limit {
        let subject = RateSubject::ALL.into_iter().find(|subject| subject.name() == name);
        let subject = subject.ok_or_else(|| {
            let names = RateSubject::ALL.map(RateSubject::name).join(", ");
            ("rate_limit", format!("there is no `rate_limit.{name}`; there are {names}"))
        })?;
        let rule = RateRule { per_minute: rate.per_minute.get(), burst: rate.burst.get() };
        limits.rates.set(subject, rule);
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::server_limits;
    use crate::config::Config;

    /// S06: rate limits and trusted proxies are read from the configuration.
    #[test]
    fn s06_limits_are_read_from_the_configuration() {
        let read = |text: &str| server_limits(&toml::from_str::<Config>(text).unwrap());
        let default = read("").unwrap();
        let changed = read(
            "trusted_proxies = ['10.0.0.0/8']\n[rate_limit]\nkey = { per_minute = 6, burst = 1 }",
        )
        .unwrap();
        assert_ne!(changed.rates, default.rates);
        assert_ne!(changed.trusted_proxies, default.trusted_proxies);
        let (key, message) = read("trusted_proxies = ['proxy']").unwrap_err();
        assert_eq!(key, "trusted_proxies");
        assert!(message.contains("`proxy` is neither an address"), "{message}");
        let (key, message) =
            read("[rate_limit]\nkeys = { per_minute = 6, burst = 1 }").unwrap_err();
        assert_eq!(key, "rate_limit");
        assert!(message.contains("there are address, new_visitor"), "{message}");
    }
}
