//! An org's credits.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::credit::{Account, Grant, Line};
use ostler_api::page::{Page, Turn};
use ostler_store::NewGrant;

use super::{Desk, view};
use crate::body::{self, Asked, Said};
use crate::refused::Result;

pub(crate) async fn show(desk: Desk) -> Result<Json<Account>> {
    Ok(Json(view::account(&desk.came(desk.office().credits().await)?)))
}

pub(crate) async fn ledger(desk: Desk, Asked(turn): Asked<Turn>) -> Result<Json<Page<Line>>> {
    let most = turn.most();
    let before = body::cursor(turn.cursor.as_deref())?;
    let found = desk.came(desk.office().ledger(before, most).await)?;
    let found = found.iter().map(view::line).collect();
    Ok(Json(Page::of(found, most, |one: &Line| one.id.to_string())))
}

pub(crate) async fn grant(desk: Desk, Said(grant): Said<Grant>) -> Result<StatusCode> {
    let Grant { reference, pool, amount } = grant;
    desk.came(desk.office().grant_credits(NewGrant { reference, pool, amount }).await)?;
    Ok(StatusCode::NO_CONTENT)
}
