//! The folder of an installation and its configuration, `ostler.toml`.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::commands::args::InstallationArgs;

/// The name of the configuration file.
const CONFIG_FILE: &str = "ostler.toml";
/// The default folder of `ostler demo`.
const DEMO_FOLDER: &str = "target/demo";

/// The content of `ostler.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// `sqlite:PATH`, relative to the folder of this file, or `postgres://…`.
    pub(crate) database: String,
    /// The bus of queue agents and doorbells: `memory:`, the default, or `amqp://…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bus: Option<String>,
    /// A script that serves as the model `scripted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<PathBuf>,
    /// The model of agents without one of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The address that the HTTP API listens on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) listen: Option<String>,
    /// The public URL of the HTTP API; providers deliver messages to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) public_url: Option<String>,
    /// After how many seconds a process that does not renew its leases counts as dead;
    /// 60 by default. Another process then answers its conversations, and the
    /// outcome of messages that it was sending is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease_timeout_secs: Option<NonZeroU32>,
    /// Whether channels, HTTP tools and MCP servers may connect to hosts of the local network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) local_network: bool,
}

/// An installation.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    pub(crate) folder: PathBuf,
    pub(crate) config: Config,
}

impl Installation {
    /// Finds the installation that the arguments name: its folder, or else the current
    /// folder or `target/demo`.
    pub(crate) fn find(args: &InstallationArgs) -> anyhow::Result<Self> {
        let defaults = [PathBuf::from("."), PathBuf::from(DEMO_FOLDER)];
        let folder = args.home.clone();
        let folder = folder
            .or_else(|| defaults.into_iter().find(|folder| folder.join(CONFIG_FILE).exists()));
        let mut installation = match (folder, &args.database) {
            (Some(folder), _) => Self::read(&folder)?,
            (None, Some(_)) => {
                let config = Config::default();
                Self { folder: PathBuf::from("."), config }
            }
            (None, None) => anyhow::bail!(
                "no installation found; create one with `ostler demo`, or name its folder with \
                 --home or its database with --database"
            ),
        };
        if let Some(database) = &args.database {
            // Paths on the command line are relative to the current folder.
            installation.config.database = resolve_database(&std::env::current_dir()?, database);
        }
        Ok(installation)
    }

    /// Reads the configuration in a folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(CONFIG_FILE);
        let name = file.display();
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {name}"))?;
        let config = toml::from_str(&text).with_context(|| format!("{name} is not valid"))?;
        Ok(Self { folder: folder.to_owned(), config })
    }

    /// Writes the configuration into a folder and creates the folder if necessary.
    pub(crate) fn write(folder: &Path, config: Config) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let file = folder.join(CONFIG_FILE);
        std::fs::write(&file, toml::to_string(&config)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self { folder: folder.to_owned(), config })
    }

    /// Returns the URL of the database.
    pub(crate) fn database(&self) -> String {
        resolve_database(&self.folder, &self.config.database)
    }

    /// Returns whether commands find this installation without `--home`.
    pub(crate) fn is_default(&self) -> bool {
        self.folder == Path::new(DEMO_FOLDER)
    }

    /// Returns the folder with a folder of secret files for each org.
    pub(crate) fn secrets_folder(&self) -> PathBuf {
        let folder = self.folder.join("secrets");
        std::path::absolute(&folder).unwrap_or(folder)
    }

    /// Returns the public URL, or else the URL for a browser on this machine.
    pub(crate) fn web_url(&self) -> String {
        let listen = || self.config.listen.as_deref().unwrap_or(ostler_server::server::ADDRESS);
        let public = self.config.public_url.as_deref();
        public.map_or_else(
            || format!("http://{}", listen()),
            |url| url.trim_end_matches('/').to_owned(),
        )
    }

    /// Returns the URL of the bus.
    pub(crate) fn bus_url(&self) -> &str {
        self.config.bus.as_deref().unwrap_or("memory:")
    }

    /// Returns after which time a process without lease renewals counts as dead, if it
    /// is configured.
    pub(crate) fn lease_timeout(&self) -> Option<Duration> {
        self.config.lease_timeout_secs.map(|secs| Duration::from_secs(secs.get().into()))
    }

    /// Returns the path of the script.
    pub(crate) fn script_path(&self) -> Option<PathBuf> {
        self.config.script.as_ref().map(|path| self.folder.join(path))
    }
}

/// Makes the path of a SQLite database relative to a folder.
fn resolve_database(folder: &Path, database: &str) -> String {
    match database.strip_prefix("sqlite:") {
        Some(path) if !path.starts_with('/') && !path.starts_with(':') => {
            format!("sqlite:{}", folder.join(path).display())
        }
        _ => database.to_owned(),
    }
}
