//! Documents that an org's agents can read.

use std::collections::BTreeSet;

use axum::Json;
use axum::http::StatusCode;
use ostler_api::knowledge::{Added, Document, NewDocument};
use ostler_api::page::{Page, Turn};
use ostler_api::problem::Code;
use ostler_domain::id::DocumentId;
use ostler_domain::time::Timestamp;
use serde::Deserialize;

use super::{Desk, Named, view};
use crate::body::{self, Asked, Said};
use crate::refused::{Refused, Result};

#[derive(Deserialize)]
pub(crate) struct Listing {
    /// Tags with commas between them; documents that share one are listed.
    #[serde(default)]
    tags: String,
    cursor: Option<String>,
    limit: Option<u32>,
}

pub(crate) async fn list(
    desk: Desk,
    Asked(listing): Asked<Listing>,
) -> Result<Json<Page<Document>>> {
    let Listing { tags, cursor, limit } = listing;
    let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    let tags: BTreeSet<String> = tags.map(str::to_owned).collect();
    let most = Turn { cursor: None, limit }.most();
    let before = cursor.as_deref().map(place).transpose()?;
    let found = desk.came(desk.office().documents(&tags, before, most).await)?;
    let found = found.into_iter().map(view::document).collect();
    let next = |one: &Document| format!("{}.{}", one.updated_at.as_millis(), one.id);
    Ok(Json(Page::of(found, most, next)))
}

/// The place of a document in the list: when it was changed, and its id.
fn place(text: &str) -> Result<(Timestamp, DocumentId)> {
    let read = || {
        let (at, id) = text.split_once('.')?;
        Some((Timestamp::from_millis(at.parse().ok()?), id.parse().ok()?))
    };
    read().ok_or_else(|| {
        Refused::new(Code::BadRequest, "`cursor` is what the page before calls `next`")
    })
}

pub(crate) async fn add(
    desk: Desk,
    Said(new): Said<NewDocument>,
) -> Result<(StatusCode, Json<Added>)> {
    let tags: Vec<&str> = new.tags.iter().map(String::as_str).collect();
    let id = desk.came(desk.office().add_document(&new.title, &new.body, &tags).await)?;
    Ok((StatusCode::CREATED, Json(Added { id })))
}

pub(crate) async fn remove(desk: Desk, Named(id): Named) -> Result<StatusCode> {
    let id = body::id(&id, "document")?;
    desk.came(desk.office().remove_document(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}
