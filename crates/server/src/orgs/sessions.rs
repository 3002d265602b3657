//! Conversations: looking at them, taking over, writing, handing back.

use axum::Json;
use ostler_api::page::{Page, Turn};
use ostler_api::session::{Assign, Assigned, Say, Session, SessionDetail, TakenOver, Which};
use ostler_domain::message::Part;
use serde::Deserialize;

use super::{Desk, Named, view};
use crate::body::{self, Asked, Said};
use crate::refused::Result;

#[derive(Deserialize)]
pub(crate) struct Listing {
    #[serde(default)]
    which: Which,
    cursor: Option<String>,
    limit: Option<u32>,
}

pub(crate) async fn list(
    desk: Desk,
    Asked(listing): Asked<Listing>,
) -> Result<Json<Page<Session>>> {
    let Listing { which, cursor, limit } = listing;
    let which = match which {
        Which::All => ostler_store::Which::All,
        Which::HandedOff => ostler_store::Which::HandedOff,
    };
    let most = Turn { cursor: None, limit }.most();
    let before = body::cursor(cursor.as_deref())?;
    let found = desk.came(desk.office().sessions(which, before, most).await)?;
    let found = found.iter().map(view::session).collect();
    Ok(Json(Page::of(found, most, |one: &Session| one.id.to_string())))
}

pub(crate) async fn show(desk: Desk, Named(id): Named) -> Result<Json<SessionDetail>> {
    let id = body::id(&id, "session")?;
    Ok(Json(view::detail(&desk.came(desk.office().session(id).await)?)))
}

pub(crate) async fn take_over(desk: Desk, Named(id): Named) -> Result<Json<TakenOver>> {
    let id = body::id(&id, "session")?;
    let taken = desk.came(desk.office().take_over(id).await)?;
    let session = view::session(&taken.session);
    Ok(Json(TakenOver { session, withdrawn: taken.withdrawn, in_flight: taken.in_flight }))
}

pub(crate) async fn say(
    desk: Desk,
    Named(id): Named,
    Said(say): Said<Say>,
) -> Result<Json<Session>> {
    let id = body::id(&id, "session")?;
    let parts = vec![Part::text(say.text)];
    Ok(Json(view::session(&desk.came(desk.office().say(id, parts).await)?)))
}

pub(crate) async fn resume(desk: Desk, Named(id): Named) -> Result<Json<Session>> {
    let id = body::id(&id, "session")?;
    Ok(Json(view::session(&desk.came(desk.office().resume(id).await)?)))
}

pub(crate) async fn dismiss(desk: Desk, Named(id): Named) -> Result<Json<Session>> {
    let id = body::id(&id, "session")?;
    Ok(Json(view::session(&desk.came(desk.office().dismiss(id).await)?)))
}

pub(crate) async fn close(desk: Desk, Named(id): Named) -> Result<Json<Session>> {
    let id = body::id(&id, "session")?;
    Ok(Json(view::session(&desk.came(desk.office().close(id).await)?)))
}

pub(crate) async fn assign(
    desk: Desk,
    Named(id): Named,
    Said(assign): Said<Assign>,
) -> Result<Json<Assigned>> {
    let id = body::id(&id, "session")?;
    let agents: Vec<&str> = assign.agents.iter().map(String::as_str).collect();
    let agents = desk.came(desk.office().assign(id, &agents).await)?;
    Ok(Json(Assigned { agents }))
}
