//! What a plan is asked for, as values of the runtime.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_api::data::{DataFile, DataRow, DataRows, RefusedRow};
use ostler_api::problem::ProblemCode;
use ostler_api::resource::{KeptSide, PlanRequest, ResourceSource};
use ostler_runtime::operations::definitions::{Address, Keep, Resource, Resources};
use ostler_runtime::operations::world::{
    self, ChangeExtent, CheckedPlan, DataPlan, ReplayWindow, RequestedChange,
};
use ostler_runtime::operations::{ImportFile, ImportRow, OperationError};
use ostler_store::StoreError;
use serde_json::Value;

use super::changed_meanwhile;
use crate::error::{ApiError, Result};

/// The most days and calls that a plan decides again.
const MAX_DAYS: u32 = 3_650;
const MAX_CALLS: u32 = 1_000_000;

fn invalid(detail: String) -> ApiError {
    ApiError::new(ProblemCode::Invalid, detail)
}

/// Returns which recorded calls are decided again.
pub(super) fn window(body: &PlanRequest) -> Result<ReplayWindow> {
    let Some(window) = body.window else { return Ok(ReplayWindow::default()) };
    if !(1..=MAX_DAYS).contains(&window.days) || !(1..=MAX_CALLS).contains(&window.calls) {
        let detail = format!("`window` has 1 to {MAX_DAYS} days and 1 to {MAX_CALLS} calls");
        return Err(invalid(detail));
    }
    Ok(ReplayWindow { days: window.days, max_calls: window.calls as usize })
}

/// Returns the change that is to be planned.
pub(super) fn change(body: PlanRequest) -> Result<RequestedChange> {
    let extent = match body.source {
        ResourceSource::Change => ChangeExtent::Some,
        ResourceSource::Files => ChangeExtent::Files(body.keep.map(|keep| match keep {
            KeptSide::Live => Keep::Live,
            KeptSide::File => Keep::File,
        })),
    };
    let mut resources = Resources::new();
    for (name, value) in body.resources {
        let address = address(&name)?;
        resources.insert(address.clone(), resource(&address, value)?);
    }
    let mut places = world::FieldPlaces::new();
    for (name, fields) in body.places {
        let address = address(&name)?;
        places.extend(fields.into_iter().map(|(path, place)| ((address.clone(), path), place)));
    }
    let incomplete = body.incomplete.iter().map(|name| address(name)).collect::<Result<_>>()?;
    let data = body.data.into_iter().map(rows).collect::<Result<_>>()?;
    Ok(RequestedChange { extent, resources, data, places, incomplete })
}

pub(super) fn address(name: &str) -> Result<Address> {
    name.parse().map_err(|error| invalid(format!("{error}; one is `agent bella/gia`")))
}

/// Parses a resource. Its org and name are those of its address, whatever its fields say.
fn resource(address: &Address, mut value: Value) -> Result<Resource> {
    let key = address.kind.name_key();
    let Some(fields) = value.as_object_mut() else {
        return Err(invalid(format!("{address}: a resource is an object with its fields")));
    };
    if !key.is_empty() {
        fields.insert(key.to_owned(), address.name.as_str().into());
    }
    if !address.org.is_empty() && *address != Address::of_org(&address.org) {
        fields.insert("org".to_owned(), address.org.as_str().into());
    }
    let parsed = Resource::parse(address.kind, &value);
    let parsed = parsed.map_err(|error| invalid(format!("{address}: {error}")))?;
    let name = parsed.value().get(key).and_then(Value::as_str).unwrap_or_default();
    if name != address.name {
        return Err(invalid(format!("{address}: the name is written `{name}`")));
    }
    Ok(parsed)
}

/// Returns rows of business data.
fn rows(data: DataRows) -> Result<world::DataRows> {
    let DataRows { org, kind, source, key_field, rows, refused } = data;
    let rows = rows.into_iter().map(import_row).collect::<Result<_>>()?;
    let refused = refused.into_iter().map(refused_row).collect();
    Ok(world::DataRows { org, kind, source, key_field, rows, refused })
}

/// Returns the number of a row that cannot be read, its column and the reason.
pub(crate) fn refused_row(row: RefusedRow) -> (u64, String, String) {
    (row.row, row.column, row.reason)
}

/// Returns a row to import.
pub(crate) fn import_row(row: DataRow) -> Result<ImportRow> {
    let DataRow { row: number, key, fields, file } = row;
    let file = file.map(|DataFile { name, media_type, content }| {
        let bytes = STANDARD.decode(content);
        let bytes = bytes.map_err(|_| invalid(format!("the content of {name} is not base64")))?;
        Ok::<_, ApiError>(ImportFile { media_type, name, bytes })
    });
    Ok(ImportRow { number, key, fields, file: file.transpose()? })
}

/// Fails if a plan leaves something to decide.
pub(super) fn check_complete(plan: &CheckedPlan, keep: Option<KeptSide>) -> Result<()> {
    if !plan.plan.drift.is_empty() && keep.is_none() {
        let detail = "the live state has changed since the last apply; decide with `keep`";
        return Err(ApiError::new(ProblemCode::NotNow, detail));
    }
    let refused: usize = plan.data.iter().map(DataPlan::refused).sum();
    match refused {
        0 => Ok(()),
        1 => Err(invalid("nothing was applied, because 1 row is refused".to_owned())),
        refused => Err(invalid(format!("nothing was applied, because {refused} rows are refused"))),
    }
}

/// Returns the problem of a change that somebody else was faster with.
pub(super) fn as_changed(error: OperationError) -> ApiError {
    match error {
        OperationError::Store(StoreError::ConfigChanged | StoreError::StaleChanges(_)) => {
            changed_meanwhile()
        }
        other => other.into(),
    }
}
