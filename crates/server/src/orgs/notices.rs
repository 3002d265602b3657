//! What the org's owner is told.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::notice::Notice;
use ostler_api::page::{Page, Turn};

use super::{Desk, Named, view};
use crate::body::{self, Asked};
use crate::refused::Result;

pub(crate) async fn list(desk: Desk, Asked(turn): Asked<Turn>) -> Result<Json<Page<Notice>>> {
    let most = turn.most();
    let after = body::cursor(turn.cursor.as_deref())?;
    let found = desk.came(desk.office().unread_notices(after, most).await)?;
    let found = found.into_iter().map(view::notice).collect();
    Ok(Json(Page::of(found, most, |one: &Notice| one.id.to_string())))
}

pub(crate) async fn read(desk: Desk, Named(id): Named) -> Result<StatusCode> {
    let id = body::id(&id, "notice")?;
    desk.came(desk.office().read_notice(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}
