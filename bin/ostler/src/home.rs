//! The folder of an installation: its `ostler.toml`, and what that says.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::cli::talk::At;

/// The name of the file.
const FILE: &str = "ostler.toml";
/// Where the demonstration keeps its world.
const DEMO: &str = "target/demo";

/// What `ostler.toml` says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// The database: `sqlite:PATH` or `postgres://…`. A path is from the folder
    /// of this file.
    pub(crate) database: String,
    /// The bus, on which agents are asked and workers are woken: `memory:`, which
    /// is the usual one, or `amqp://…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bus: Option<String>,
    /// A script that answers as the model `scripted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<PathBuf>,
    /// The model of agents that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Where the HTTP API listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) listen: Option<String>,
    /// The address under which the web reaches the HTTP API; providers that bring
    /// messages are told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) public_url: Option<String>,
    /// After how many seconds a process that says nothing is given up: 60 if it is
    /// not said. Another then answers what it was answering; whether it sent what
    /// it was sending is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) given_up_after_secs: Option<NonZeroU32>,
    /// Whether channels may lead to hosts of the local network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) local_network: bool,
}

/// An installation.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    pub(crate) config: Config,
}

impl Home {
    /// The installation that was named, or the one that is here.
    pub(crate) fn find(at: &At) -> anyhow::Result<Self> {
        let here = [PathBuf::from("."), PathBuf::from(DEMO)];
        let named = at.home.clone();
        let found = named.or_else(|| here.into_iter().find(|folder| folder.join(FILE).exists()));
        let mut home = match (found, &at.database) {
            (Some(folder), _) => Self::read(&folder)?,
            (None, Some(_)) => {
                let config = Config::default();
                Self { folder: PathBuf::from("."), config }
            }
            (None, None) => anyhow::bail!(
                "there is no installation here; start one with `ostler demo`, or name its folder \
                 with --home or its database with --database"
            ),
        };
        if let Some(database) = &at.database {
            // What is typed is from where it is typed.
            home.config.database = from(&std::env::current_dir()?, database);
        }
        Ok(home)
    }

    /// Reads the file of a folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(FILE);
        let name = file.display();
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {name}"))?;
        let config = toml::from_str(&text).with_context(|| format!("{name} is not right"))?;
        Ok(Self { folder: folder.to_owned(), config })
    }

    /// Writes the file of a folder, which is made if there is none.
    pub(crate) fn write(folder: &Path, config: Config) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let file = folder.join(FILE);
        std::fs::write(&file, toml::to_string(&config)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self { folder: folder.to_owned(), config })
    }

    /// Where the database is.
    pub(crate) fn database(&self) -> String {
        from(&self.folder, &self.config.database)
    }

    /// Whether commands find it without being told where it is.
    pub(crate) fn is_usual(&self) -> bool {
        self.folder == Path::new(DEMO)
    }

    /// Where orgs keep secrets in files: in a folder of each.
    pub(crate) fn secrets(&self) -> PathBuf {
        let folder = self.folder.join("secrets");
        std::path::absolute(&folder).unwrap_or(folder)
    }

    /// Where the web finds it, or a browser on this machine.
    pub(crate) fn web_address(&self) -> String {
        let listen = || self.config.listen.as_deref().unwrap_or(ostler_server::server::ADDRESS);
        let public = self.config.public_url.as_deref();
        public.map_or_else(
            || format!("http://{}", listen()),
            |url| url.trim_end_matches('/').to_owned(),
        )
    }

    /// Where the bus is.
    pub(crate) fn bus(&self) -> &str {
        self.config.bus.as_deref().unwrap_or("memory:")
    }

    /// After which time a process that says nothing is given up, if that is said.
    pub(crate) fn given_up_after(&self) -> Option<Duration> {
        self.config.given_up_after_secs.map(|secs| Duration::from_secs(secs.get().into()))
    }

    /// Where the script is.
    pub(crate) fn script(&self) -> Option<PathBuf> {
        self.config.script.as_ref().map(|path| self.folder.join(path))
    }
}

/// A database whose path is from this folder.
fn from(folder: &Path, database: &str) -> String {
    match database.strip_prefix("sqlite:") {
        Some(path) if !path.starts_with('/') && !path.starts_with(':') => {
            format!("sqlite:{}", folder.join(path).display())
        }
        _ => database.to_owned(),
    }
}
