//! `ostler export`: writes what lives as world files.

mod data;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use ostler_runtime::operations::Actor;
use ostler_world::export::{file_of, files, text, update};
use ostler_world::{Address, Resources, schema};

use super::args::InstallationArgs;
use super::operator::Operator;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler export world/
  ostler export world/ --data
  ostler export --org nordlicht
  ostler export --org nordlicht > nordlicht.toml

With a folder each organization is written to a file of its own, beside the schema
that editors use. A file that exists keeps its comments and its order; only what
differs is changed. Without a folder everything is printed. With --data the
contacts, products, orders and other business data are written too, into files
beside the world files. They hold personal data: keep them where that may be.")]
pub(crate) struct ExportArgs {
    /// Folder to write to
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Only this organization, by slug
    #[arg(long, value_name = "ORG")]
    org: Option<String>,
    /// Write business data too
    #[arg(long, requires = "folder")]
    data: bool,
    #[command(flatten)]
    installation: InstallationArgs,
}

pub(crate) async fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.installation).await?;
    let live = operator.operations.live_world(Actor::Terminal).await?;
    let mut resources = live.resources;
    if let Some(org) = &args.org {
        let slug = super::find_org(&operator.store, org).await?.slug;
        resources.retain(|address, _| address.org == slug);
    }
    match &args.folder {
        None => anstream::print!("{}", text(&resources)),
        Some(folder) => write(folder, &resources)?,
    }
    if let (true, Some(folder)) = (args.data, &args.folder) {
        for org in operator.store.orgs().await? {
            let address = Address::of_org(&org.slug);
            if resources.contains_key(&address) {
                let file = folder.join(file_of(&resources, &address));
                data::write(&operator, &org, folder, &file).await?;
            }
        }
    }
    Ok(())
}

fn write(folder: &Path, resources: &Resources) -> anyhow::Result<()> {
    let context = |path: &Path| format!("cannot write {}", path.display());
    std::fs::create_dir_all(folder).with_context(|| context(folder))?;
    let schema_file = folder.join("ostler.schema.json");
    let schema = serde_json::to_string_pretty(schema::schema())?;
    std::fs::write(&schema_file, schema + "\n").with_context(|| context(&schema_file))?;
    for (name, new) in files(resources) {
        let path = folder.join(&name);
        let text = match std::fs::read_to_string(&path) {
            Ok(old) => {
                let own: Resources = resources
                    .iter()
                    .filter(|(address, _)| file_of(resources, address) == name)
                    .map(|(address, one)| (address.clone(), one.clone()))
                    .collect();
                update(&path.display().to_string(), &old, &own)
                    .map_err(|problem| anyhow::anyhow!("{problem}"))?
            }
            Err(_) => new,
        };
        std::fs::write(&path, text).with_context(|| context(&path))?;
        anstream::println!("{}", path.display());
    }
    Ok(())
}
