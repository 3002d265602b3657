//! Routes for business data: what an org's tools read.

use std::str::FromStr as _;

use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_api::data::{DataFile, DataItem, ImportReport, ImportRequest, RowOutcome, RowPlan};
use ostler_api::page::{Page, PageQuery};
use ostler_api::problem::ProblemCode;
use ostler_domain::business_data::DataKind;
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_runtime::operations::{self, ImportFile, StoredItem};
use serde_json::json;

use super::tagged::{IfMatch, Versioned};
use super::{OrgRequest, PathId, PathIds};
use crate::body::{QueryParams, parse_cursor};
use crate::error::{ApiError, Result};
use crate::resources::{self, request, wire};
use crate::route::describe::schema_of;
use crate::route::{Route, delete, get, post};

pub(crate) fn routes() -> Vec<Route> {
    let rows = json!({"rows": [{"row": 1, "key": "B-1",
        "fields": {"sku": "B-1", "name": "Bell", "price": {"amount": "12.00", "currency": "EUR"}}}]});
    vec![
        get(View, "/data/{kind}", "listData", "List the business data of a kind", list),
        get(
            View,
            "/data/{kind}/{item}",
            "getDataItem",
            "Show an item, which is named by its own key, id or name",
            show,
        ),
        get(View, "/data/{kind}/{item}/file", "getDataFile", "Get the file of a media item", file),
        delete(
            Configure,
            "/data/{kind}/{item}",
            "removeDataItem",
            "Remove an item. Contacts are deleted with everything about them by their own route",
            remove,
        )
        .returns(schema_of::<DataItem>)
        .statuses(&[200]),
        post(
            Configure,
            "/data/{kind}/import",
            "importData",
            "Import rows; importing them again changes nothing",
            import,
        )
        .takes(schema_of::<ImportRequest>)
        .returns(schema_of::<ImportReport>)
        .example(rows),
    ]
}

fn parse_kind(text: &str) -> Result<DataKind> {
    let kind = DataKind::from_str(text);
    kind.map_err(|error| ApiError::new(ProblemCode::Invalid, error.to_string()))
}

async fn list(
    request: OrgRequest,
    PathId(kind): PathId,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<DataItem>>> {
    let after: Option<u128> = parse_cursor(query.cursor.as_deref())?;
    let (kind, limit) = (parse_kind(&kind)?, query.page_size());
    let found = request.operations().data_items(kind, after, limit).await;
    let found = request.hide_foreign_org(found)?;
    let page = Page::from_items(found, limit, |item| item.position.to_string());
    Ok(Json(Page { items: page.items.iter().map(item).collect(), next: page.next }))
}

async fn show(request: OrgRequest, PathIds(kind, key): PathIds) -> Result<Versioned<DataItem>> {
    let value = current(&request, &kind, &key).await?;
    Ok(Versioned { basis: json!(value), value })
}

async fn current(request: &OrgRequest, kind: &str, key: &str) -> Result<DataItem> {
    let found = request.operations().data_item(parse_kind(kind)?, key).await;
    Ok(item(&request.hide_foreign_org(found)?))
}

async fn file(request: OrgRequest, PathIds(kind, key): PathIds) -> Result<Json<DataFile>> {
    let found = request.operations().data_file(parse_kind(&kind)?, &key).await;
    let ImportFile { media_type, name, bytes } = request.hide_foreign_org(found)?;
    Ok(Json(DataFile { name, media_type, content: STANDARD.encode(bytes) }))
}

async fn remove(
    request: OrgRequest,
    PathIds(kind, key): PathIds,
    based_on: IfMatch,
) -> Result<Json<DataItem>> {
    let _turn = based_on.turn(request.server()).await;
    let found = async { Ok(json!(current(&request, &kind, &key).await?)) };
    based_on.check_current(found).await?;
    let removed = request.operations().remove_data(parse_kind(&kind)?, &key).await;
    Ok(Json(item(&request.hide_foreign_org(removed)?)))
}

async fn import(
    request: OrgRequest,
    PathId(kind): PathId,
    body: Request<Body>,
) -> Result<Json<ImportReport>> {
    let kind = parse_kind(&kind)?;
    let (body, _place) =
        resources::read::<ImportRequest>(&request.server, &request.caller, body).await?;
    let rows = body.rows.into_iter().map(request::import_row).collect::<Result<_>>()?;
    let operations = request.operations();
    let planned = operations.plan_import(kind, rows, body.key_field.as_deref()).await;
    let mut plan = request.hide_foreign_org(planned)?;
    for (number, column, reason) in body.refused.into_iter().map(request::refused_row) {
        plan.refuse(number, column, reason);
    }
    let refused = plan.count(|one| matches!(one, operations::RowOutcome::Refused { .. }));
    let applied = !body.dry_run && (refused == 0 || body.skip_refused);
    if applied {
        let stored = operations.apply_import(kind, &mut plan, &body.source).await;
        request.hide_foreign_org(stored)?;
    }
    let rows: Vec<RowPlan> = plan.rows.iter().map(wire::row_plan).collect();
    let count = |outcome| rows.iter().filter(|row| row.outcome == outcome).count();
    Ok(Json(ImportReport {
        kind,
        applied,
        created: count(RowOutcome::Create),
        changed: count(RowOutcome::Change),
        unchanged: count(RowOutcome::Unchanged),
        refused,
        rows,
    }))
}

fn item(stored: &StoredItem) -> DataItem {
    DataItem {
        id: stored.id.clone(),
        key: stored.key.clone(),
        name: stored.name.clone(),
        version: stored.version,
        updated_at: stored.updated_at,
        data: stored.data.clone(),
    }
}
