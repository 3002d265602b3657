//! Calls that wait for a person.

use axum::Json;
use ostler_api::approval::{Approval, Approve, Reject, State};
use ostler_api::page::{Page, Turn};
use ostler_store::DecisionState;
use serde::Deserialize;

use super::{Desk, Named, view};
use crate::body::{self, Asked, Said};
use crate::refused::Result;

#[derive(Deserialize)]
pub(crate) struct Listing {
    #[serde(default)]
    which: State,
    cursor: Option<String>,
    limit: Option<u32>,
}

pub(crate) async fn list(
    desk: Desk,
    Asked(listing): Asked<Listing>,
) -> Result<Json<Page<Approval>>> {
    let Listing { which, cursor, limit } = listing;
    let state = match which {
        State::Pending => DecisionState::Pending,
        State::Approved => DecisionState::Approved,
        State::Used => DecisionState::Used,
        State::Rejected => DecisionState::Rejected,
        State::Expired => DecisionState::Expired,
    };
    let most = Turn { cursor: None, limit }.most();
    let after = body::cursor(cursor.as_deref())?;
    let found = desk.came(desk.office().approvals(state, after, most).await)?;
    let found = found.iter().map(view::approval).collect();
    Ok(Json(Page::of(found, most, |one: &Approval| one.id.to_string())))
}

pub(crate) async fn show(desk: Desk, Named(id): Named) -> Result<Json<Approval>> {
    let id = body::id(&id, "approval")?;
    Ok(Json(view::approval(&desk.came(desk.office().approval(id).await)?)))
}

pub(crate) async fn approve(
    desk: Desk,
    Named(id): Named,
    Said(yes): Said<Option<Approve>>,
) -> Result<Json<Approval>> {
    let id = body::id(&id, "approval")?;
    let decided = match yes.and_then(|yes| yes.arguments) {
        Some(changed) => desk.office().approve_with(id, &changed).await,
        None => desk.office().approve(id).await,
    };
    Ok(Json(view::approval(&desk.came(decided)?)))
}

pub(crate) async fn reject(
    desk: Desk,
    Named(id): Named,
    Said(no): Said<Reject>,
) -> Result<Json<Approval>> {
    let id = body::id(&id, "approval")?;
    Ok(Json(view::approval(&desk.came(desk.office().reject(id, &no.reason).await)?)))
}
