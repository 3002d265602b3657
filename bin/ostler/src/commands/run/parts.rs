//! What a prompt is answered with: a model and tools.

use std::sync::Arc;

use anyhow::Context as _;
use ostler_engine::model::Model;
use ostler_engine::tool::Tool;
use ostler_engine::turn::Models;
use ostler_models::catalogue::{Catalogue, Options, Provider, Uses, Wire};
use ostler_models::chance::Chance;
use ostler_models::cooldown::{Clock, Cooldowns};
use ostler_models::http::{Http, Limits};
use ostler_models::openai::LimitField;
use ostler_models::price::PriceList;
use ostler_models::scripted::{Script, ScriptedModel};
use ostler_tools::mcp::{
    HttpServer, McpServerConfig, McpServers, McpTransport, ServerName, StdioServer,
};
use ostler_tools::web::Fetcher;

use crate::cli::Run;
use crate::screen::QUIET;

/// The model that was chosen, and those that it falls back on.
pub(super) struct Chosen {
    catalogue: Catalogue,
    name: String,
}

impl Chosen {
    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Models for Chosen {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        self.catalogue.model(Some(name.unwrap_or(&self.name)))
    }
}

/// The name under which a server of one's own is known.
const LOCAL: &str = "local";

/// The model that was asked for, if it can be used.
pub(super) fn models(command: &Run) -> anyhow::Result<Chosen> {
    let mut providers = Provider::built_in();
    if let Some(url) = &command.url {
        providers.push(Provider::new(LOCAL, Wire::OpenAi(LimitField::MaxTokens), url));
    }
    let mut catalogue = Catalogue::new(Options {
        http: Http::new(Limits::default())?,
        providers,
        prices: PriceList::built_in()?,
        default: None,
        fallbacks: Vec::new(),
        chance: Chance::random(),
        cooldowns: Cooldowns::new(Clock::system()),
        uses: Uses::default(),
    });
    let name = match (&command.script, &command.model) {
        (Some(file), _) => {
            catalogue =
                catalogue.with("scripted", Arc::new(ScriptedModel::new(Script::load(file)?)));
            "scripted".to_owned()
        }
        (None, Some(name)) if command.url.is_some() => format!("{LOCAL}/{name}"),
        (None, Some(name)) => name.clone(),
        (None, None) => anyhow::bail!(
            "no model: name one with --model (such as anthropic/claude-sonnet-4-5), \
             or answer from a script with --script examples/scripts/support.yaml"
        ),
    };
    catalogue.check(&name)?;
    if let Some(warning) = catalogue.price_warning(&name) {
        anstream::eprintln!("{QUIET}{warning}{QUIET:#}");
    }
    Ok(Chosen { catalogue, name })
}

/// The MCP servers, started; what is wrong with one is said.
pub(super) async fn servers(command: &Run) -> anyhow::Result<Option<McpServers>> {
    if command.mcp.is_empty() {
        return Ok(None);
    }
    let configs = command.mcp.iter().map(|text| server(text)).collect::<anyhow::Result<_>>()?;
    let servers = McpServers::start(configs);
    servers.ready().await;
    for problem in servers.problems() {
        anstream::eprintln!("{QUIET}{problem}{QUIET:#}");
    }
    Ok(Some(servers))
}

/// A server from what was typed: an address, or a program and its arguments,
/// with a name before it if one was given.
fn server(text: &str) -> anyhow::Result<McpServerConfig> {
    let (given, text) = named(text);
    let mut words = text.split_whitespace().map(str::to_owned);
    let first = words.next().context("--mcp wants a command or an address")?;
    let is_address = first.starts_with("http://") || first.starts_with("https://");
    // The last word that is a name: `npx -y server-everything` is that server.
    let last = text.split_whitespace().rfind(|word| !word.starts_with('-')).unwrap_or(&first);
    let name = given.map_or_else(|| short_name(last), str::to_owned);
    let transport = if is_address {
        McpTransport::Http(HttpServer { url: first.clone(), bearer: None })
    } else {
        McpTransport::Stdio(StdioServer::new(first.clone(), words))
    };
    Ok(McpServerConfig::new(name.parse::<ServerName>()?, transport))
}

/// The name that was given, `NAME=COMMAND`, and the rest. A variable or an address
/// with `=` in it is no name.
fn named(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    match text.split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name), rest),
        _ => (None, text),
    }
}

/// The end of a path or an address, as the name of a server can be.
fn short_name(text: &str) -> String {
    let end = text.trim_end_matches('/').rsplit(['/', '\\', ':']).next().unwrap_or(text);
    let stem = end.split('.').next().unwrap_or(end);
    let plain: String =
        stem.to_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let plain: String = plain.trim_matches('-').chars().take(20).collect();
    if plain.is_empty() { "server".into() } else { plain }
}

/// All tools: the web, and those of the servers.
pub(super) fn tools(
    command: &Run,
    servers: Option<&McpServers>,
) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
    let mut tools =
        if command.no_web { Vec::new() } else { ostler_tools::catalogue::web(&Fetcher::public()?) };
    tools.extend(servers.into_iter().flat_map(McpServers::tools));
    Ok(tools)
}

#[cfg(test)]
mod tests {
    use super::{named, short_name};

    #[test]
    fn a_server_can_be_given_a_name() {
        assert_eq!(named("files=npx server"), (Some("files"), "npx server"));
        assert_eq!(named("npx server --a=b"), (None, "npx server --a=b"));
        assert_eq!(named("https://x.example/?a=b"), (None, "https://x.example/?a=b"));
    }

    #[test]
    fn a_server_is_named_for_its_program() {
        let check = |text, expected: &str| assert_eq!(short_name(text), expected, "{text}");
        check("@modelcontextprotocol/server-everything", "server-everything");
        check("/usr/bin/my_server.py", "myserver");
        check("https://mcp.example.com/", "mcp");
        check("https://mcp.example.com/v1", "v1");
        check("???", "server");
    }
}
