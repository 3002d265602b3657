//! Whether a command works on a local installation or on a server.

use std::path::Path;

use anyhow::Context as _;

use super::contexts::{Context, Contexts};
use crate::commands::args::InstallationArgs;
use crate::config::keys;
use crate::installation::CONFIG_FILE;

/// What a command works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Local,
    Server(Context),
}

impl Target {
    /// Returns what a command works on. The first of these that is there decides: `--server` or
    /// `--context`; `--home` or `--database` and their variables; `OSTLER_CONTEXT`; an
    /// installation in the current folder; the current context.
    pub(crate) fn find(args: &InstallationArgs) -> anyhow::Result<Self> {
        if let Some(url) = &args.server {
            return Contexts::load()?.of_server(url).map(Self::Server);
        }
        if let Some(name) = &args.context {
            return Contexts::load()?.named(name).map(Self::Server);
        }
        let database = std::env::var_os(keys::DATABASE);
        if args.home.is_some() || args.database.is_some() || database.is_some() {
            return Ok(Self::Local);
        }
        if let Some(name) = std::env::var_os(keys::CONTEXT) {
            let name = name.to_str().context("OSTLER_CONTEXT is not text")?.to_owned();
            return Contexts::load()?.named(&name).map(Self::Server);
        }
        if Path::new(CONFIG_FILE).exists() {
            return Ok(Self::Local);
        }
        Ok(Contexts::load()?.current().map_or(Self::Local, |context| Self::Server(context.clone())))
    }
}
