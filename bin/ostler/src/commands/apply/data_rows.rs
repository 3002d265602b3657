//! Reading the business data that world files name.

use std::path::Path;

use anyhow::Context as _;
use ostler_api::data::DataRows;
use ostler_tools::import::{FileFormat, ImportOptions};
use ostler_world::file::{DataEntry, ParsedFiles, Problems};
use ostler_world::{Address, Kind, Resources, unknown_name};

use crate::api_client::ApiClient;
use crate::commands::data::import::{convert, file_format, read_file};
use crate::commands::resource::live_resources;

/// Reads the rows of every `[[data]]` entry. The error points at the entry.
pub(super) async fn read(parsed: &ParsedFiles, api: &ApiClient) -> anyhow::Result<Vec<DataRows>> {
    if parsed.data.is_empty() {
        return Ok(Vec::new());
    }
    let mut orgs = live_resources(api).await?;
    orgs.extend(parsed.resources.clone());
    orgs.retain(|address, _| address.kind == Kind::Org);
    let mut problems = Vec::new();
    let mut all = Vec::new();
    for entry in &parsed.data {
        match read_entry(entry, &orgs) {
            Ok(rows) => all.push(rows),
            Err(error) => match parsed.locate_data(entry, format!("{error:#}")) {
                Some(problem) => problems.push(problem),
                None => return Err(error),
            },
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(anyhow::Error::new(Problems(problems))) }
}

fn read_entry(entry: &DataEntry, orgs: &Resources) -> anyhow::Result<DataRows> {
    let definition = &entry.definition;
    let org = orgs.get(&Address::of_org(&definition.org)).with_context(|| {
        unknown_name("org", &definition.org, orgs.keys().map(|one| one.name.as_str()))
    })?;
    let options = ImportOptions {
        kind: definition.kind,
        key_field: definition.key.clone(),
        time_zone: org.value()["time_zone"].as_str().unwrap_or("UTC").to_owned(),
    };
    let folder = Path::new(&entry.world_file).parent().unwrap_or(Path::new("."));
    let path = folder.join(definition.source());
    let (text, format) = match &definition.file {
        Some(_) => {
            let text = read_file(&path)?;
            let format = file_format(&path, &text);
            (text, format)
        }
        None => (serde_json::to_string(&definition.rows)?, FileFormat::Json),
    };
    let read = ostler_tools::import::read(&text, format, &options)
        .with_context(|| format!("{} cannot be imported", definition.source()))?;
    let (rows, refused, _) = convert(read, &path);
    Ok(DataRows {
        org: definition.org.clone(),
        kind: definition.kind,
        source: definition.source().to_owned(),
        key_field: definition.key.clone(),
        rows,
        refused,
    })
}
