//! `ostler init`: makes an installation. What exists stays as it is; what is missing is
//! added.

mod questions;
mod report;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use ostler_domain::id::OrgId;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::new_key::KeyLifetime;
use ostler_domain::org::role::Role;
use ostler_engine::tool::ToolSet;
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::{Actor, CreatedKey, NewKey, Operations};
use ostler_runtime::toolbox::Toolbox;
use ostler_store::{PlatformParts, SCHEMA_VERSION, Store};

use self::questions::Administrator;
use self::report::{InitReport, Token};
use super::args::OutputArgs;
use super::demo::folder::is_demo;
use super::password_link::password_link;
use crate::bus_check;
use crate::config::redact::redact;
use crate::config::{Config, keys};
use crate::installation::{CONFIG_FILE, Installation};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler init
  ostler init --home /srv/ostler --email ada@example.org \\
      --name \"Ada Lovelace\" --yes
  ostler init --database postgres://ostler@localhost/ostler \\
      --bus amqp://localhost \\
      --email ada@example.org --name \"Ada Lovelace\"

It writes ostler.toml, creates the tables, the platform organization with its system
agent, and a first administrator, whose log-in link and token are shown once. Repeating it changes
nothing, and adds what is missing if it was interrupted. On a terminal it asks for
what is not given.")]
pub(crate) struct InitArgs {
    /// Folder of the installation [default: the current folder]
    #[arg(long, value_name = "FOLDER", env = keys::HOME)]
    home: Option<PathBuf>,
    /// Database: sqlite:PATH or postgres://… [default: OSTLER_DATABASE_URL, or
    /// sqlite:ostler.db]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Message bus: memory: or amqp://… [default: OSTLER_BUS_URL, or memory:]
    #[arg(long, value_name = "URL")]
    bus: Option<String>,
    /// Address on which `ostler serve` listens [default: 127.0.0.1:7470]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// E-mail address of the first administrator
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// Name of the first administrator
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Use the folder even if it has other files
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// The name of the first administrator's key.
const KEY_NAME: &str = "first administrator";

pub(crate) async fn run(args: &InitArgs) -> anyhow::Result<()> {
    let folder = args.home.clone().unwrap_or_else(|| ".".into());
    let has_file = folder.join(CONFIG_FILE).exists();
    let config = configuration(args, &folder, has_file)?;
    let installation = Installation::preview(&folder, &config)?;
    // Everything that can be refused is checked before anything is written.
    if !has_file {
        questions::confirm_folder(&folder, args.yes)?;
    }
    bus_check::check(installation.bus_url()).await.map_err(|reason| {
        let url = redact(installation.bus_url());
        anyhow!("the bus {url} cannot be used: {reason}. Nothing was changed")
    })?;
    let version = schema_version(&installation).await?;
    let mut administrator = match version {
        0 => Some(questions::administrator(args.email.as_deref(), args.name.as_deref())?),
        _ => None,
    };

    if !has_file {
        Installation::write(&folder, &config)?;
    }
    let store = Store::connect(&installation.database())?;
    store.migrate().await?;
    let tools = Toolbox::new(Arc::new(ToolSet::new(Vec::new())?));
    let operations = Operations::new(store.clone(), tools, Clock::system());
    let before = operations.platform_parts(Actor::Terminal).await?;
    if administrator.is_none() && !is_complete(&before) {
        administrator =
            Some(questions::administrator(args.email.as_deref(), args.name.as_deref())?);
    }
    if let Some(Administrator { email, name }) = &administrator {
        operations.set_up(Actor::Terminal, email, name).await?;
    }
    let after = operations.platform_parts(Actor::Terminal).await?;
    let platform = after.platform.context("the platform organization was not created")?;
    let token = create_token(&operations, platform).await?;
    let link = match &administrator {
        Some(Administrator { email, .. }) if !before.administrator => {
            let created = operations.as_actor(Actor::Terminal, platform);
            let created = created.create_password_code(email).await?;
            Some(password_link(&installation, created))
        }
        _ => None,
    };
    let report = InitReport {
        installation: &installation,
        wrote_file: !has_file,
        schema_before: version,
        before,
        administrator,
        token,
        link,
    };
    report.print(args.output.json)
}

const fn is_complete(parts: &PlatformParts) -> bool {
    parts.platform.is_some() && parts.system_agent && parts.administrator
}

/// Returns the configuration in the folder, or the one that the flags describe. Flags that
/// contradict an existing file are refused.
fn configuration(args: &InitArgs, folder: &Path, has_file: bool) -> anyhow::Result<Config> {
    let shown = folder.display();
    if is_demo(folder) {
        bail!("{shown} belongs to `ostler demo`; choose another folder with --home");
    }
    if !has_file {
        let default = Config::default();
        let database = args.database.clone().unwrap_or(default.database);
        let (bus, listen) = (args.bus.clone(), args.listen.clone());
        return Ok(Config { database, bus, listen, ..Config::default() });
    }
    let config = Installation::read(folder)
        .context("the folder has an ostler.toml that cannot be read; nothing was changed")?
        .config;
    let set = [
        ("database", &args.database, Some(&config.database)),
        ("bus", &args.bus, config.bus.as_ref()),
        ("listen", &args.listen, config.listen.as_ref()),
    ];
    for (key, flag, value) in set {
        if let Some(flag) = flag.as_ref().filter(|flag| Some(*flag) != value) {
            bail!(
                "ostler.toml in {shown} has another `{key}` than {}; change it there. Nothing was \
                 changed",
                redact(flag)
            );
        }
    }
    Ok(config)
}

/// Returns the schema version of the database; 0 if it has no tables or does not exist.
async fn schema_version(installation: &Installation) -> anyhow::Result<i64> {
    if installation.database_file().is_some_and(|file| !file.exists()) {
        return Ok(0);
    }
    let url = installation.database();
    let version = Store::connect(&url)?.schema_version().await;
    let version = version.with_context(|| {
        format!("the database {} cannot be used; nothing was changed", redact(&url))
    })?;
    if version > SCHEMA_VERSION {
        bail!("the database belongs to a newer version of ostler; use that one");
    }
    Ok(version)
}

/// Creates the token of the first administrator, unless there ever was one.
async fn create_token(operations: &Operations, platform: OrgId) -> anyhow::Result<Option<Token>> {
    let operations = operations.as_actor(Actor::Terminal, platform);
    let mut after = None;
    loop {
        let page = operations.keys(after, 200).await?;
        if page.iter().any(|key| key.role == Role::PlatformAdmin) {
            return Ok(None);
        }
        match page.last() {
            Some(last) => after = Some(last.id),
            None => break,
        }
    }
    let new = NewKey {
        name: KEY_NAME.to_owned(),
        role: Role::PlatformAdmin,
        scopes: KeyScopes::default(),
        lifetime: KeyLifetime::Usual,
    };
    let CreatedKey { key, secret } = operations.create_key(new).await?;
    Ok(key.expires_at.map(|expires_at| Token { id: key.id, secret, expires_at }))
}
