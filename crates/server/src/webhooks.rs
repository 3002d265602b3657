//! `/v1/webhooks/{binding}`: what channels bring. Who brings it is for the
//! channel to check; it is taken once its row is committed, and answered later.

use axum::Json;
use axum::extract::{Path, Request, State};
use ostler_channels::connection::MOST_BODY_BYTES;
use ostler_runtime::inbound::receive::Taken;
use ostler_store::Accepted;
use serde::Serialize;

use crate::body;
use crate::refused::Result;
use crate::server::Server;

/// What became of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// It is taken, under this id.
    Id(String),
    /// It is done.
    Done(bool),
    /// Nobody answers it, and why.
    Ignored(String),
}

impl From<Taken> for Answer {
    fn from(taken: Taken) -> Self {
        match taken {
            Taken::Accepted(Accepted::New(id) | Accepted::Repeat(id)) => Self::Id(id.to_string()),
            Taken::Done => Self::Done(true),
            Taken::Ignored(why) => Self::Ignored(why),
        }
    }
}

pub(crate) async fn bring(
    State(server): State<Server>,
    Path(binding): Path<String>,
    request: Request,
) -> Result<Json<Answer>> {
    let binding = body::id(&binding, "binding")?;
    let (head, body) = request.into_parts();
    let body = body::read(body, MOST_BODY_BYTES).await?;
    let taken = server.parts.reception.bring(binding, &head.headers, &body).await?;
    Ok(Json(taken.into()))
}
