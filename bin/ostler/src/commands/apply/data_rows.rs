//! Reading the business data that world files name.

use std::path::Path;

use anyhow::Context as _;
use ostler_runtime::operations::world::{CheckedPlan, DataRows};
use ostler_tools::import::{FileFormat, ImportOptions};
use ostler_world::file::{DataEntry, ParsedFiles, Problems};
use ostler_world::{Address, unknown_name};

use crate::commands::data::import::{convert, file_format, read_file};

/// Reads the rows of every `[[data]]` entry. The error points at the entry.
pub(super) fn read(parsed: &ParsedFiles, plan: &CheckedPlan) -> anyhow::Result<Vec<DataRows>> {
    let mut problems = Vec::new();
    let mut all = Vec::new();
    for entry in &parsed.data {
        match read_entry(entry, plan) {
            Ok(rows) => all.push(rows),
            Err(error) => match parsed.locate_data(entry, format!("{error:#}")) {
                Some(problem) => problems.push(problem),
                None => return Err(error),
            },
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(anyhow::Error::new(Problems(problems))) }
}

fn read_entry(entry: &DataEntry, plan: &CheckedPlan) -> anyhow::Result<DataRows> {
    let definition = &entry.definition;
    let org = plan.plan.after.get(&Address::of_org(&definition.org)).with_context(|| {
        let orgs = plan.plan.after.keys().filter(|one| one.kind == ostler_world::Kind::Org);
        unknown_name("org", &definition.org, orgs.map(|one| one.name.as_str()))
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
