//! `/v1/webhooks/{binding}`: inbound messages of channels. The channel verifies
//! the sender; the response is sent once the inbox entry is committed.

use axum::Json;
use axum::extract::{Request, State};
use ostler_channels::connection::MAX_BODY_BYTES;
use ostler_runtime::conversation::receive::InboundOutcome;
use ostler_store::AcceptOutcome;
use schemars::JsonSchema;
use serde::Serialize;

use crate::body;
use crate::error::Result;
use crate::orgs::PathId;
use crate::route::Access;
use crate::route::{Route, post};
use crate::server::Server;

pub(crate) fn routes() -> Vec<Route> {
    let summary = "Accept a message of a channel, which verifies the sender";
    let receive = post(Access::Signed, "/webhooks/{binding}", "receiveWebhook", summary, receive);
    vec![receive.takes_content("*/*")]
}

/// Response to a webhook.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WebhookResponse {
    /// Accepted under this inbox id.
    Id(String),
    /// Handled at once, without an inbox entry.
    Done(bool),
    /// Not answered, with the reason.
    Ignored(String),
}

impl From<InboundOutcome> for WebhookResponse {
    fn from(taken: InboundOutcome) -> Self {
        match taken {
            InboundOutcome::Accepted(AcceptOutcome::New(id) | AcceptOutcome::Duplicate(id)) => {
                Self::Id(id.to_string())
            }
            InboundOutcome::Done => Self::Done(true),
            InboundOutcome::Ignored(why) => Self::Ignored(why),
        }
    }
}

pub(crate) async fn receive(
    State(server): State<Server>,
    PathId(binding): PathId,
    request: Request,
) -> Result<Json<WebhookResponse>> {
    let binding = body::parse_id(&binding, "binding")?;
    let receiver = &server.deps.receiver;
    let (head, body) = request.into_parts();
    // Checked before a large body is read.
    receiver.check_binding(binding).await?;
    let body = server.bodies.read(body, MAX_BODY_BYTES).await?;
    let taken = receiver.receive_webhook(binding, &head.headers, body.bytes).await?;
    Ok(Json(taken.into()))
}
