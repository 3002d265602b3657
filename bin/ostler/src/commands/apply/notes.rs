//! What a plan writes that will not work on this machine. A note prevents nothing: the files
//! may be applied here and served elsewhere, or the missing part comes later.

use ostler_world::Kind;
use ostler_world::plan::{Change, Plan};
use serde_json::Value;

use crate::installation::Installation;
use crate::{model_catalogue, tool_check};

/// Returns the notes about a plan, in sentences without a full stop.
pub(super) fn notes(installation: &Installation, plan: &Plan) -> anyhow::Result<Vec<String>> {
    let mut notes = tool_check::refused_addresses(installation, plan);
    notes.extend(unusable_models(installation, plan)?);
    Ok(notes)
}

/// Returns which models that a plan names cannot be used with the configuration of this
/// machine.
fn unusable_models(installation: &Installation, plan: &Plan) -> anyhow::Result<Vec<String>> {
    let named: Vec<(&Change, &str)> = plan
        .changes
        .iter()
        .filter(|change| matches!(change.address.kind, Kind::Org | Kind::Agent))
        .flat_map(|change| models(change).map(move |name| (change, name)))
        .collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let catalogue = model_catalogue::build(installation)?;
    let problem = |(change, name): (&Change, &str)| {
        let error = catalogue.check(name).err()?;
        Some(format!("{}: {error}", change.address))
    };
    Ok(named.into_iter().filter_map(problem).collect())
}

/// Returns the models that a change sets.
fn models(change: &Change) -> impl Iterator<Item = &str> {
    let lists = change
        .fields
        .iter()
        .filter(|field| matches!(field.path.as_str(), "models" | "settings.models"));
    lists.filter_map(|field| field.new.as_array()).flatten().filter_map(Value::as_str)
}
