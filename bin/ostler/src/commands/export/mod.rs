//! `ostler export`: writes what lives as world files.

mod data;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use ostler_world::export::{file_of, text, update, without_own_secrets};
use ostler_world::file::parse;
use ostler_world::{Address, Kind, Resources, schema};

use super::args::InstallationArgs;
use super::resource::live_resources;
use crate::api_client::ApiClient;
use crate::world::toml_files;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler export world/
  ostler export world/ --data
  ostler export --org nordlicht
  ostler export --org nordlicht > nordlicht.toml

With a folder each organization is written to the file there that defines it, or to a
new one of its own, beside the schema that editors use. A file that exists keeps its
comments and its order; only what differs is changed. Without a folder everything is printed. With --data the
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
    let api = ApiClient::open(&args.installation).await?;
    let mut resources = live_resources(&api).await?;
    without_own_secrets(&mut resources);
    if let Some(org) = &args.org {
        let slug = api.find_org(org).await?.org.slug;
        resources.retain(|address, _| address.org == slug);
    }
    match &args.folder {
        None => anstream::print!("{}", text(&resources)),
        Some(folder) => write(folder, &resources, &existing_files(folder)?)?,
    }
    if let (true, Some(folder)) = (args.data, &args.folder) {
        for org in api.orgs().await? {
            let address = Address::of_org(&org.slug);
            if resources.contains_key(&address) {
                let file = match existing_files(folder)?.remove(&org.slug) {
                    Some(file) => file,
                    None => folder.join(file_of(&resources, &address)),
                };
                data::write(&api.org(org), folder, &file).await?;
            }
        }
    }
    Ok(())
}

/// Returns the files of a folder that define orgs, by slug, and what applies to all of them,
/// by the empty text. A file that cannot be read as a
/// world file is none.
fn existing_files(folder: &Path) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    for path in toml_files(folder)? {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let Ok(parsed) = parse([(path.display().to_string().as_str(), text.as_str())]) else {
            continue;
        };
        let whole = |kind: Kind| kind == Kind::Org || kind == Kind::Platform;
        for address in parsed.resources.keys().filter(|address| whole(address.kind)) {
            found.entry(address.org.clone()).or_insert_with(|| path.clone());
        }
    }
    Ok(found)
}

/// Adds what a file says about orgs that are not exported, so that it stays.
fn keep_other_orgs(name: &str, text: &str, own: &mut Resources) {
    let Ok(parsed) = parse([(name, text)]) else { return };
    let exported: BTreeSet<String> = own.keys().map(|address| address.org.clone()).collect();
    let others = parsed.resources.into_iter();
    own.extend(others.filter(|(address, _)| !exported.contains(&address.org)));
}

fn write(
    folder: &Path,
    resources: &Resources,
    existing: &BTreeMap<String, PathBuf>,
) -> anyhow::Result<()> {
    let context = |path: &Path| format!("cannot write {}", path.display());
    std::fs::create_dir_all(folder).with_context(|| context(folder))?;
    let schema_file = folder.join("ostler.schema.json");
    let schema = serde_json::to_string_pretty(schema::schema())?;
    std::fs::write(&schema_file, schema + "\n").with_context(|| context(&schema_file))?;
    let mut by_file: BTreeMap<PathBuf, Resources> = BTreeMap::new();
    for (address, resource) in resources {
        let file = existing.get(&address.org).cloned();
        let file = file.unwrap_or_else(|| folder.join(file_of(resources, address)));
        by_file.entry(file).or_default().insert(address.clone(), resource.clone());
    }
    for (path, mut own) in by_file {
        let name = path.display().to_string();
        let text = match std::fs::read_to_string(&path) {
            Ok(old) => {
                keep_other_orgs(&name, &old, &mut own);
                update(&name, &old, &own).map_err(|problem| anyhow::anyhow!("{problem}"))?
            }
            Err(_) => text(&own),
        };
        std::fs::write(&path, text).with_context(|| context(&path))?;
        anstream::println!("{}", path.display());
    }
    Ok(())
}
