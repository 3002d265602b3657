//! Calls of tools of which nobody knows what became.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::page::{Page, Turn};
use ostler_api::unknown_call::{Resolve, UnknownCall};

use super::{Desk, Named, view};
use crate::body::{self, Asked, Said};
use crate::refused::Result;

pub(crate) async fn list(desk: Desk, Asked(turn): Asked<Turn>) -> Result<Json<Page<UnknownCall>>> {
    let most = turn.most();
    let after = body::cursor(turn.cursor.as_deref())?;
    let found = desk.came(desk.office().unknown_calls(after, most).await)?;
    let found = found.into_iter().map(view::unknown_call).collect();
    Ok(Json(Page::of(found, most, |one: &UnknownCall| one.id.to_string())))
}

pub(crate) async fn resolve(
    desk: Desk,
    Named(id): Named,
    Said(known): Said<Resolve>,
) -> Result<StatusCode> {
    let id = body::id(&id, "call")?;
    desk.came(desk.office().resolve_unknown(id, &known.outcome).await)?;
    Ok(StatusCode::NO_CONTENT)
}
