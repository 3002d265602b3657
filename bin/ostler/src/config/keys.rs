//! Every key of `ostler.toml` and every environment variable that the program reads.

/// A key of `ostler.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// The variable that overrides the key.
    pub(crate) variable: &'static str,
    /// How the value of the variable is written.
    pub(crate) form: VariableForm,
    /// The default, for people.
    pub(crate) default: Option<&'static str>,
}

/// How the value of a variable is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableForm {
    Text,
    /// Texts, separated by commas.
    List,
    /// As in `ostler.toml`, on the right of the `=`.
    Toml,
}

use VariableForm::{List, Text, Toml};

/// All keys, in the order in which people read them.
pub(crate) const KEYS: [Key; 21] = [
    key("database", DATABASE, Text, Some(super::DEFAULT_DATABASE)),
    key("bus", "OSTLER_BUS_URL", Text, Some("memory:")),
    key("listen", LISTEN, Text, Some(ostler_server::server::ADDRESS)),
    key("public_url", "OSTLER_PUBLIC_URL", Text, None),
    key("log", "OSTLER_LOG", Text, None),
    key("metrics_listen", "OSTLER_METRICS_LISTEN", Text, None),
    key("otlp_endpoint", "OSTLER_OTLP_ENDPOINT", Text, None),
    key("trace_percent", "OSTLER_TRACE_PERCENT", Toml, Some("100")),
    key("model", "OSTLER_MODEL", Text, None),
    key("fallback_models", "OSTLER_FALLBACK_MODELS", List, None),
    key("script", "OSTLER_SCRIPT", Text, None),
    key("lease_timeout_secs", "OSTLER_LEASE_TIMEOUT_SECS", Toml, Some("60")),
    key("local_network", "OSTLER_LOCAL_NETWORK", Toml, Some("false")),
    key("trusted_proxies", "OSTLER_TRUSTED_PROXIES", List, Some("127.0.0.0/8, ::1")),
    key("storage_per_org_mib", "OSTLER_STORAGE_PER_ORG_MIB", Toml, Some("10240")),
    key("thread_workspaces", "OSTLER_THREAD_WORKSPACES", Text, None),
    key("rate_limit", "OSTLER_RATE_LIMIT", Toml, None),
    key("mode", "OSTLER_MODE", Toml, None),
    key("provider", "OSTLER_PROVIDER", Toml, None),
    key("identity_provider", "OSTLER_IDENTITY_PROVIDER", Toml, None),
    key("price", "OSTLER_PRICE", Toml, None),
];

pub(crate) const DATABASE: &str = "OSTLER_DATABASE_URL";
/// The variable of `listen`, which the demo reads too.
pub(crate) const LISTEN: &str = "OSTLER_LISTEN";
/// The variable with the folder of the installation.
pub(crate) const HOME: &str = "OSTLER_HOME";
/// The variable with the org that commands work on.
pub(crate) const ORG: &str = "OSTLER_ORG";
/// The variable with the context that commands use.
pub(crate) const CONTEXT: &str = "OSTLER_CONTEXT";
/// The variable with the API key for `ostler login` and `--server`.
pub(crate) const API_KEY: &str = "OSTLER_API_KEY";
/// The prefix of the variables that belong to orgs.
pub(crate) const ORG_SECRET_PREFIX: &str = "OSTLER_SECRET_";
/// The variable with the operator's key for Unsplash, which every org may use.
pub(crate) const UNSPLASH_KEY: &str = "UNSPLASH_ACCESS_KEY";
/// The variables of `ostler bench`.
pub(crate) const BENCH_POSTGRES: &str = "OSTLER_BENCH_POSTGRES_URL";
/// The variable of `ostler bench` with a broker.
pub(crate) const BENCH_AMQP: &str = "OSTLER_BENCH_AMQP_URL";

/// The variables that are not keys, with their descriptions.
pub(crate) const OTHER_VARIABLES: [(&str, &str); 12] = [
    (HOME, "The folder of the installation, like `--home`."),
    (ORG, "The org that commands work on, like `--org`."),
    (CONTEXT, "The server that commands work on, by the name of its context, like `--context`."),
    (API_KEY, "The API key for `ostler login` and `--server`."),
    (
        "OSTLER_SECRET_ORG_…_NAME",
        "A secret of an org: the prefix, the id of the org in capitals, and a name. Channels and \
         integrations refer to it as `env:OSTLER_SECRET_ORG_…_NAME`.",
    ),
    ("OPENAI_API_KEY", "The key of the built-in provider `openai`."),
    ("ANTHROPIC_API_KEY", "The key of the built-in provider `anthropic`."),
    ("OPENROUTER_API_KEY", "The key of the built-in provider `openrouter`."),
    (UNSPLASH_KEY, "The operator's key for Unsplash, which every org may use."),
    (
        "OTEL_EXPORTER_OTLP_HEADERS",
        "Headers for the collector of `otlp_endpoint`, as `name=value,name=value`.",
    ),
    (BENCH_POSTGRES, "The PostgreSQL server of `ostler bench`."),
    (BENCH_AMQP, "The RabbitMQ server of `ostler bench`."),
];

const fn key(
    name: &'static str,
    variable: &'static str,
    form: VariableForm,
    default: Option<&'static str>,
) -> Key {
    Key { name, variable, form, default }
}

/// Returns whether the program reads a variable that begins with `OSTLER_`. The variables of
/// tests count too.
pub(crate) fn is_known_variable(name: &str) -> bool {
    KEYS.iter().any(|key| key.variable == name)
        || OTHER_VARIABLES.iter().any(|(other, _)| *other == name)
        || name.starts_with(ORG_SECRET_PREFIX)
        || name.starts_with("OSTLER_TEST_")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{KEYS, is_known_variable};
    use crate::config::Config;

    #[test]
    fn every_key_of_the_configuration_is_listed_with_its_own_variable() {
        let schema = schemars::schema_for!(Config);
        let properties = schema.as_value()["properties"].as_object().expect("an object");
        let documented: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        let listed: BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(listed, documented);
        let variables: BTreeSet<&str> = KEYS.iter().map(|key| key.variable).collect();
        assert_eq!(variables.len(), KEYS.len());
        assert!(variables.iter().all(|name| name.starts_with("OSTLER_")));
    }

    #[test]
    fn misspelt_variables_are_not_known() {
        for (name, known) in [
            ("OSTLER_LISTEN", true),
            ("OSTLER_HOME", true),
            ("OSTLER_SECRET_ORG_01_TELEGRAM", true),
            ("OSTLER_DATABSE_URL", false),
        ] {
            assert_eq!(is_known_variable(name), known, "{name}");
        }
    }
}
