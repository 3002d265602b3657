//! The business data of files, each entry with its place.

use toml_edit::Item;

use super::parse::{fill_default_org, to_json};
use super::problem::Problem;
use super::source::Source;
use crate::spec::DataDefinition;

/// The name of the tables with business data.
const TABLE: &str = "data";

/// Business data in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct DataEntry {
    /// The name of the world file.
    pub world_file: String,
    pub definition: DataDefinition,
    pub(super) source: usize,
    pub(super) index: usize,
}

/// Reads the entries of a file.
pub(super) fn read(
    source: &Source,
    number: usize,
    default_org: Option<&str>,
) -> Result<Vec<DataEntry>, Problem> {
    let mut entries = Vec::new();
    for index in 0.. {
        let Some(item) = entry(source, index) else { break };
        let at = |path: &str| source.find(&item, path);
        let mut value = to_json(&item);
        fill_default_org(&mut value, TABLE, default_org)
            .map_err(|message| source.problem(at(""), message))?;
        let definition: DataDefinition = serde_path_to_error::deserialize(&value)
            .map_err(|error| source.problem(at(&error.path().to_string()), error.to_string()))?;
        if definition.file.is_some() != definition.rows.is_empty() {
            let message = "name a `file` or write `rows`, one of them".to_owned();
            return Err(source.problem(at(""), message));
        }
        let world_file = source.name().to_owned();
        entries.push(DataEntry { world_file, definition, source: number, index });
    }
    Ok(entries)
}

/// Returns an entry of a file.
pub(super) fn entry(source: &Source, index: usize) -> Option<Item> {
    match source.root().get(TABLE)? {
        Item::ArrayOfTables(tables) => tables.get(index).cloned().map(Item::Table),
        item => item.get(index).cloned(),
    }
}
