//! Conversations that wait for a person.

use axum::Json;
use ostler_api::escalation::Waiting;
use ostler_api::page::Page;

use super::{Desk, view};
use crate::refused::Result;

/// The whole queue, in its order: there are only as many as people can answer.
pub(crate) async fn list(desk: Desk) -> Result<Json<Page<Waiting>>> {
    let found = desk.came(desk.office().escalations().await)?;
    let waiting = found.iter().map(|one| Waiting {
        escalation: view::escalation(&one.escalation),
        session: view::session(&one.session),
    });
    Ok(Json(Page { items: waiting.collect(), next: None }))
}
