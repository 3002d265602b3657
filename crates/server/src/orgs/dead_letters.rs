//! Messages that could not be answered, or not be sent.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::dead_letter::{Abandon, DeadLetter};
use ostler_api::page::{Page, Turn};
use ostler_store::LetterId;

use super::{Desk, Named, view};
use crate::body::{self, Asked, Said};
use crate::refused::{Refused, Result};

pub(crate) async fn list(desk: Desk, Asked(turn): Asked<Turn>) -> Result<Json<Page<DeadLetter>>> {
    let most = turn.most();
    let after = turn.cursor.as_deref().map(letter).transpose()?;
    let found = desk.came(desk.office().dead_letters(after, most).await)?;
    let found = found.iter().map(view::dead_letter).collect();
    Ok(Json(Page::of(found, most, |one: &DeadLetter| one.id.clone())))
}

pub(crate) async fn show(desk: Desk, Named(id): Named) -> Result<Json<DeadLetter>> {
    let id = letter(&id)?;
    Ok(Json(view::dead_letter(&desk.came(desk.office().dead_letter(id).await)?)))
}

pub(crate) async fn replay(desk: Desk, Named(id): Named) -> Result<StatusCode> {
    let id = letter(&id)?;
    desk.came(desk.office().replay_dead_letter(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn abandon(
    desk: Desk,
    Named(id): Named,
    Said(abandon): Said<Abandon>,
) -> Result<StatusCode> {
    let id = letter(&id)?;
    desk.came(desk.office().abandon_dead_letter(id, &abandon.why).await)?;
    Ok(StatusCode::NO_CONTENT)
}

fn letter(text: &str) -> Result<LetterId> {
    let inbox = body::id(text, "dead letter").map(LetterId::Inbox);
    inbox.or_else(|_: Refused| body::id(text, "dead letter").map(LetterId::Outbox))
}
