//! The configuration of an installation: the keys of `ostler.toml`. Each of them is also an
//! environment variable. A flag of a command beats the variable, and the variable beats the
//! file.

mod error;
pub(crate) mod keys;
mod load;
pub(crate) mod redact;
pub(crate) mod reference;
mod server_limits;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use ostler_domain::secret::SecretRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use error::ConfigError;
pub(crate) use load::{Layers, LoadedConfig, Source, Sources};
pub(crate) use server_limits::server_limits;

/// The content of `ostler.toml`. The documentation of its fields is the reference of the
/// configuration; see `reference`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// The database: `sqlite:PATH`, relative to the folder of this file, or
    /// `postgres://USER:PASSWORD@HOST/NAME`. In a variable or a flag the path is relative to
    /// the current folder. A server on another machine is reached over TLS and its certificate
    /// is checked; `?sslrootcert=FILE` names the authorities that are trusted instead of the
    /// machine's, `?sslmode=verify-full` asks for TLS on this machine too.
    #[schemars(example = "sqlite:ostler.db")]
    #[serde(skip_serializing_if = "is_default_database")]
    pub(crate) database: String,
    /// The message bus of agents on queues, which also wakes workers: `memory:` for one
    /// process, or `amqp://USER:PASSWORD@HOST` for several that share a RabbitMQ server. One on
    /// another machine needs `amqps://`; `?cacertfile=FILE` names authorities of your own.
    #[schemars(example = "memory:")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bus: Option<String>,
    /// The address on which `ostler serve` listens. Other machines can connect unless it is a
    /// loopback address.
    #[schemars(example = "127.0.0.1:7470")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) listen: Option<String>,
    /// The URL under which the HTTP API is reachable from outside; it begins with https:// unless
    /// it names this machine. Providers deliver messages
    /// to it; without one, Telegram is polled.
    #[schemars(example = "https://ostler.example")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) public_url: Option<String>,
    /// What `ostler serve` and `ostler worker` log to standard error: a level (`error`, `warn`,
    /// `info`, `debug`, `trace`, `off`), or levels of parts of the program, separated by
    /// commas. By default warnings, and what the server and the bus do.
    #[schemars(example = "warn,ostler_runtime=debug")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<String>,
    /// The address on which `ostler serve` and `ostler worker` tell Prometheus what they measure
    /// (`/metrics`). Nobody logs in there, so choose one that only your monitoring reaches.
    #[schemars(example = "127.0.0.1:9470")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metrics_listen: Option<String>,
    /// The URL of an OpenTelemetry collector that gets the traces of `ostler serve` and
    /// `ostler worker` (OTLP over HTTP): one for each answered message, with its steps, calls of
    /// models and calls of tools, and nothing of what was said. `/v1/traces` is added. Headers
    /// for the collector are in the variable `OTEL_EXPORTER_OTLP_HEADERS`.
    #[schemars(example = "http://127.0.0.1:4318")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) otlp_endpoint: Option<String>,
    /// How many of a hundred traces are exported.
    #[schemars(example = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_percent: Option<u8>,
    /// The model of agents that name none, as `provider/model`. `ostler model ls` lists models.
    #[schemars(example = "anthropic/claude-sonnet-4-5")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Models that are asked, in this order, when the model of an agent has failed. In the
    /// variable they are separated by commas.
    #[schemars(example = ["openai/gpt-5-mini"])]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fallback_models: Vec<String>,
    /// A script that answers as the model `scripted`, relative to the folder of this file. It
    /// is the default model if `model` is not set.
    #[schemars(example = "script.yaml")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<PathBuf>,
    /// After how many seconds a process that does not renew its leases counts as dead. Another
    /// process then answers its conversations, and the outcome of the messages that it was
    /// sending is unknown.
    #[schemars(example = 60)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lease_timeout_secs: Option<NonZeroU32>,
    /// Whether channels, HTTP tools and MCP servers may connect to hosts of the local network.
    /// An org chooses where they send, so allow this only if you trust every org.
    #[schemars(example = true)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) local_network: bool,
    /// The proxies in front of the server, as addresses or networks. They are believed what
    /// they say about the address of a client (`X-Forwarded-For`), by which limits are counted.
    /// In the variable they are separated by commas.
    #[schemars(example = ["10.0.0.0/8"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trusted_proxies: Option<Vec<String>>,
    /// How many MiB of files an org may store.
    #[schemars(example = 10240)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) storage_per_org_mib: Option<NonZeroU32>,
    /// The folder in which agents of threads work that are opened over HTTP, relative to the
    /// folder of this file. Each user or key of an org has a folder of its own in it. Without
    /// it, these agents have neither files nor commands.
    #[schemars(example = &"workspaces")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thread_workspaces: Option<PathBuf>,
    /// Rate limits by whom they are for: `address`, `new_visitor`, `visitor`, `binding`, `key`
    /// or `org`. `docs/LIMITS.md` has the defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) rate_limit: BTreeMap<String, RateLimitConfig>,
    /// Modes of threads by id: `build`, `plan` and `chat` are shipped and can be changed, others
    /// can be added.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) mode: BTreeMap<String, ModeConfig>,
    /// Providers of models besides the built-in `openai`, `anthropic`, `openrouter`, `ollama`,
    /// `vllm` and `llamacpp`. One with the name of a built-in provider replaces it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) provider: Vec<ProviderConfig>,
    /// Identity providers that people log in with (OpenID Connect). Each redirects to
    /// `/v1/login/NAME/callback` below `public_url`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) identity_provider: Vec<IdentityProviderConfig>,
    /// Prices by model name, in dollars for a million tokens. A name that ends in `/` stands
    /// for all models of a provider. Without a price, one is assumed that is rather high.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) price: BTreeMap<String, PriceConfig>,
}

/// The default of `database`.
pub(crate) const DEFAULT_DATABASE: &str = "sqlite:ostler.db";

fn is_default_database(database: &str) -> bool {
    database == DEFAULT_DATABASE
}

impl Default for Config {
    fn default() -> Self {
        Self {
            database: DEFAULT_DATABASE.to_owned(),
            bus: None,
            listen: None,
            public_url: None,
            log: None,
            metrics_listen: None,
            otlp_endpoint: None,
            trace_percent: None,
            model: None,
            fallback_models: Vec::new(),
            script: None,
            lease_timeout_secs: None,
            local_network: false,
            trusted_proxies: None,
            storage_per_org_mib: None,
            rate_limit: BTreeMap::new(),
            thread_workspaces: None,
            mode: BTreeMap::new(),
            provider: Vec::new(),
            identity_provider: Vec::new(),
            price: BTreeMap::new(),
        }
    }
}

/// A rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateLimitConfig {
    /// How many requests are accepted in a minute.
    #[schemars(example = 600)]
    pub(crate) per_minute: NonZeroU32,
    /// How many requests are accepted at once.
    #[schemars(example = 100)]
    pub(crate) burst: NonZeroU32,
}

/// A mode of threads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModeConfig {
    /// The file with the system prompt, relative to the folder of this file.
    #[schemars(example = "prompts/plan.md")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<PathBuf>,
    /// The name for people.
    #[schemars(example = &"Plan")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Whether the agent has only tools that read.
    #[schemars(example = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) read_only: Option<bool>,
    /// The model of the mode.
    #[schemars(example = "anthropic/claude-sonnet-4-5")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderConfig {
    /// The first part of its models' names: `shop` in `shop/llama3`.
    #[schemars(example = &"shop")]
    pub(crate) name: String,
    /// The API that it offers: `openai` (chat completions, as most servers do) or `anthropic`
    /// (messages).
    #[schemars(example = &"openai")]
    pub(crate) kind: ProviderKind,
    /// The URL before `/chat/completions` or `/messages`.
    #[schemars(example = "http://localhost:9000/v1")]
    pub(crate) base_url: String,
    /// Where its key is: `env:NAME` or `file:PATH`, relative to the folder of this file. Without
    /// it, no key is sent.
    #[schemars(with = "Option<String>", example = "env:SHOP_API_KEY")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<SecretRef>,
    /// Models for `ostler model ls`; others can be used as well.
    #[schemars(example = ["llama3"])]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) models: Vec<String>,
    /// Models that accept only text; attachments are described to them.
    #[schemars(example = ["llama3"])]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) text_only: Vec<String>,
}

/// An identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdentityProviderConfig {
    /// Its name in URLs: letters, digits and `-`.
    #[schemars(example = &"company")]
    pub(crate) name: String,
    /// The URL of the issuer, before `/.well-known/openid-configuration`.
    #[schemars(example = "https://login.example.com")]
    pub(crate) issuer: String,
    /// The id of this installation at the provider.
    #[schemars(example = &"ostler")]
    pub(crate) client_id: String,
    /// Where the secret of this installation at the provider is: `env:NAME` or `file:PATH`,
    /// relative to the folder of this file. Without it, PKCE alone protects the log-in.
    #[schemars(with = "Option<String>", example = "env:OIDC_CLIENT_SECRET")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<SecretRef>,
}

/// The API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProviderKind {
    Openai,
    Anthropic,
}

/// The price of a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceConfig {
    /// A million input tokens.
    #[schemars(example = 0.5)]
    pub(crate) input: f64,
    /// A million output tokens.
    #[schemars(example = 1.5)]
    pub(crate) output: f64,
    /// A million input tokens that are read from a cache; as `input` by default.
    #[schemars(example = 0.05)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cached_input: Option<f64>,
    /// A million input tokens that are written to a cache; as `input` by default.
    #[schemars(example = 0.6)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cache_write: Option<f64>,
}
