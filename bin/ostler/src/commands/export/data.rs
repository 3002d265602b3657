//! Business data as files beside the world files: one for each org and kind, in the form
//! that an import reads.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_api::data::{DataFile, DataItem};
use ostler_domain::business_data::DataKind;
use ostler_domain::id::BlobId;
use ostler_world::export::set_data;
use serde_json::{Map, Value, json};

use crate::api_client::OrgApi;

/// The folder of the data, beside the world files.
const FOLDER: &str = "data";

/// Writes the data of an org, and names the files in its world file.
pub(super) async fn write(api: &OrgApi, folder: &Path, world_file: &Path) -> anyhow::Result<()> {
    let org = &api.org;
    let mut entries = Vec::new();
    let contacts = all(api, DataKind::Contacts).await?;
    let addresses = addresses(&contacts);
    for kind in DataKind::ALL {
        let items = match kind {
            DataKind::Contacts => contacts.clone(),
            _ => all(api, kind).await?,
        };
        let keyed: Vec<&DataItem> = items.iter().filter(|item| item.key.is_some()).collect();
        let left_out = items.len() - keyed.len();
        if left_out > 0 {
            anstream::eprintln!("{}: {left_out} {kind} without an own key are left out", org.slug);
        }
        if keyed.is_empty() {
            continue;
        }
        let name = format!("{FOLDER}/{}-{kind}.json", org.slug);
        let mut rows = Vec::with_capacity(keyed.len());
        for item in keyed {
            let mut row = row(kind, item, &addresses);
            if kind == DataKind::Media {
                write_media(api, folder, item, &mut row).await?;
            }
            rows.push(Value::Object(row));
        }
        write_file(&folder.join(&name), serde_json::to_string_pretty(&rows)?.as_bytes())?;
        entries.push((kind, name));
    }
    if entries.is_empty() {
        return Ok(());
    }
    let text = std::fs::read_to_string(world_file)
        .with_context(|| format!("cannot read {}", world_file.display()))?;
    let text = set_data(&text, &org.slug, &entries)
        .with_context(|| format!("{} is not TOML", world_file.display()))?;
    write_file(world_file, text.as_bytes())?;
    for (_, name) in entries {
        anstream::println!("{}", folder.join(name).display());
    }
    Ok(())
}

async fn all(api: &OrgApi, kind: DataKind) -> anyhow::Result<Vec<DataItem>> {
    api.list(&["data", kind.name()], &[], usize::MAX).await
}

/// Returns the addresses by which orders name contacts, by the contact's id.
fn addresses(contacts: &[DataItem]) -> BTreeMap<String, Value> {
    let address = |item: &DataItem| {
        let (details, key) = (&item.data["details"], &item.data["crm"]["id"]);
        [&details["email"], &details["phone"], key].into_iter().find(|one| one.is_string()).cloned()
    };
    contacts.iter().filter_map(|item| Some((item.id.clone(), address(item)?))).collect()
}

/// Returns a stored item as a row that an import reads.
fn row(kind: DataKind, item: &DataItem, addresses: &BTreeMap<String, Value>) -> Map<String, Value> {
    let mut row = item.data.as_object().cloned().unwrap_or_default();
    match kind {
        DataKind::Contacts => {
            let mut flat = Map::new();
            for (name, value) in [
                ("key", &item.data["crm"]["id"]),
                ("name", &item.data["name"]),
                ("email", &item.data["details"]["email"]),
                ("phone", &item.data["details"]["phone"]),
                ("locale", &item.data["locale"]),
                ("tags", &item.data["tags"]),
                ("notes", &item.data["notes"]),
            ] {
                let is_empty = value.is_null() || *value == json!([]);
                if !is_empty {
                    flat.insert(name.to_owned(), value.clone());
                }
            }
            row = flat;
        }
        DataKind::Orders => {
            let id = item.data["contact"].as_str().unwrap_or_default();
            // A contact without an own key is not exported; the order is, without it.
            match addresses.get(id) {
                Some(address) => row.insert("contact".to_owned(), address.clone()),
                None => row.remove("contact"),
            };
        }
        _ => {}
    }
    row
}

/// Writes the file of a media item and names it in the row.
async fn write_media(
    api: &OrgApi,
    folder: &Path,
    item: &DataItem,
    row: &mut Map<String, Value>,
) -> anyhow::Result<()> {
    let id = item.data["blob"].as_str();
    let id = id.with_context(|| format!("the media item {} has no file", item.id))?;
    // It becomes a part of a path, so it has to be an id.
    let id: BlobId =
        id.parse().with_context(|| format!("the media item {} is not valid", item.id))?;
    let file: DataFile = api.get(&["data", DataKind::Media.name(), &item.id, "file"]).await?;
    let own_name = Path::new(&file.name).file_name();
    let own_name = own_name.map_or("file".into(), |name| name.to_string_lossy());
    let name = format!("{}-media/{id}/{own_name}", api.org.slug);
    let bytes = STANDARD.decode(&file.content).context("the file is not base64")?;
    write_file(&folder.join(FOLDER).join(&name), &bytes)?;
    row.remove("blob");
    row.insert("file".to_owned(), name.into());
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let context = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(context)?;
    }
    std::fs::write(path, bytes).with_context(context)
}
