//! The folder of an installation and its configuration, `ostler.toml`.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use ostler_domain::secret::SecretRef;
use ostler_store::Store;

use crate::api_client::Target;
use crate::commands::args::InstallationArgs;
use crate::config::{Config, Layers, LoadedConfig, Source, Sources, reference};

/// The name of the configuration file.
pub(crate) const CONFIG_FILE: &str = "ostler.toml";
/// The default folder of `ostler demo`.
const DEMO_FOLDER: &str = "target/demo";

/// Why a command does nothing on a server.
pub(crate) const ONLY_ON_THE_MACHINE: &str = "this command works on the machine of the \
    installation only; run it there, without --server and --context";

/// Readable and writable for the owner, closed to all others.
const OWNER_ONLY: u32 = 0o600;

/// An installation.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    pub(crate) folder: PathBuf,
    pub(crate) config: Config,
    /// Where each value of the configuration comes from.
    pub(crate) sources: Sources,
}

impl Installation {
    /// Finds the installation that the arguments name: its folder, or else the current
    /// folder or `target/demo`. Variables and flags win over its file.
    pub(crate) fn find(args: &InstallationArgs) -> anyhow::Result<Self> {
        if args.server.is_some() || args.context.is_some() {
            anyhow::bail!(ONLY_ON_THE_MACHINE);
        }
        let defaults = [PathBuf::from("."), PathBuf::from(DEMO_FOLDER)];
        let folder = args.home.clone();
        let folder = folder
            .or_else(|| defaults.into_iter().find(|folder| folder.join(CONFIG_FILE).exists()));
        let file = folder.as_deref().map(read_file).transpose()?;
        let has_file = file.is_some();
        let installation = Self::load(folder.unwrap_or_else(|| ".".into()), file.as_ref(), args)?;
        if !has_file && installation.sources.of("database") == Source::Default {
            if let Ok(Target::Server(context)) = Target::find(args) {
                anyhow::bail!(
                    "{ONLY_ON_THE_MACHINE}; there is no installation here, and you work on {}",
                    context.url
                );
            }
            anyhow::bail!(
                "no installation found; create one with `ostler init`, name its folder with --home or \
                 its database with --database, or log in to a server with `ostler login`"
            );
        }
        Ok(installation)
    }

    /// Returns the configuration of commands that need no installation: the one in the folder
    /// that is named, or else in the current folder, or else the variables alone.
    pub(crate) fn find_optional(home: Option<&Path>) -> anyhow::Result<Self> {
        let folder = home.unwrap_or(Path::new("."));
        let wanted = home.is_some() || folder.join(CONFIG_FILE).exists();
        let file = wanted.then(|| read_file(folder)).transpose()?;
        let args = InstallationArgs::none();
        Self::load(folder.to_owned(), file.as_ref(), &args)
    }

    /// Reads the configuration in a folder, without variables and flags.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let (name, text) = read_file(folder)?;
        let layers = Layers { file: Some((&name, &text)), variables: &|_| None, flags: &[] };
        let LoadedConfig { config, sources } = layers.load()?;
        Ok(Self { folder: folder.to_owned(), config, sources })
    }

    fn load(
        folder: PathBuf,
        file: Option<&(String, String)>,
        args: &InstallationArgs,
    ) -> anyhow::Result<Self> {
        let database = args.database.iter();
        let flags: Vec<_> = database.map(|url| ("database", "--database", url.clone())).collect();
        let layers = Layers {
            file: file.map(|(name, text)| (name.as_str(), text.as_str())),
            variables: &|name| std::env::var(name).ok(),
            flags: &flags,
        };
        let LoadedConfig { mut config, sources } = layers.load()?;
        // Paths that are not in the file are relative to the current folder.
        let current = std::env::current_dir()?;
        if !matches!(sources.of("database"), Source::File | Source::Default) {
            config.database = resolve_database(&current, &config.database);
        }
        if matches!(sources.of("thread_workspaces"), Source::Variable(_)) {
            config.thread_workspaces = config.thread_workspaces.map(|path| current.join(path));
        }
        if matches!(sources.of("script"), Source::Variable(_)) {
            config.script = config.script.map(|path| current.join(path));
        }
        Ok(Self { folder, config, sources })
    }

    /// Returns the installation that a configuration would make, with the variables that are
    /// set. Nothing is written.
    pub(crate) fn preview(folder: &Path, config: &Config) -> anyhow::Result<Self> {
        let name = folder.join(CONFIG_FILE).display().to_string();
        let text = reference::render_file(config)?;
        let args = InstallationArgs::none();
        Self::load(folder.to_owned(), Some(&(name, text)), &args)
    }

    /// Writes the configuration into a folder and creates the folder if necessary.
    pub(crate) fn write(folder: &Path, config: &Config) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        write_private(&folder.join(CONFIG_FILE), &reference::render_file(config)?)?;
        Self::read(folder)
    }

    /// Returns the URL of the database.
    pub(crate) fn database(&self) -> String {
        resolve_database(&self.folder, &self.config.database)
    }

    /// Opens the database, with the limits of the configuration.
    pub(crate) async fn open_store(&self) -> anyhow::Result<Store> {
        let store = Store::open(&self.database()).await?;
        Ok(match self.config.storage_per_org_mib {
            Some(mib) => store.with_storage_limit(u64::from(mib.get()) << 20),
            None => store,
        })
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

    /// Returns a secret of the operator's with its path relative to the folder.
    pub(crate) fn resolve_secret(&self, secret: &SecretRef) -> SecretRef {
        match secret {
            SecretRef::File(path) => SecretRef::File(self.folder.join(path).display().to_string()),
            other => other.clone(),
        }
    }

    /// Returns the path of the database file, if the database is one.
    pub(crate) fn database_file(&self) -> Option<PathBuf> {
        let database = self.database();
        let path = database.strip_prefix("sqlite:")?;
        let path = path.strip_prefix("//").unwrap_or(path);
        (!path.starts_with(':')).then(|| PathBuf::from(path))
    }

    /// Returns the folder in which agents of threads work that are opened over HTTP.
    pub(crate) fn thread_workspaces(&self) -> Option<PathBuf> {
        let folder = self.folder.join(self.config.thread_workspaces.as_ref()?);
        Some(std::path::absolute(&folder).unwrap_or(folder))
    }

    /// Returns the path of the script.
    pub(crate) fn script_path(&self) -> Option<PathBuf> {
        self.config.script.as_ref().map(|path| self.folder.join(path))
    }
}

/// Returns the name and the text of the configuration in a folder.
fn read_file(folder: &Path) -> anyhow::Result<(String, String)> {
    let file = folder.join(CONFIG_FILE);
    let name = file.display().to_string();
    let text = fs::read_to_string(&file)
        .with_context(|| format!("cannot read {name}; `ostler init` creates an installation"))?;
    Ok((name, text))
}

/// Writes a file that only its owner may read, so that no reader ever sees a part of it.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let part = path.with_extension("part");
    let write = || {
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(OWNER_ONLY).open(&part)?;
        file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
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
