//! `/v1/webhooks/{binding}`: inbound messages of channels. The channel verifies
//! the sender; the response is sent once the inbox entry is committed.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::{Extension, Json};
use ostler_channels::connection::MAX_BODY_BYTES;
use ostler_domain::id::BindingId;
use ostler_runtime::conversation::receive::InboundOutcome;
use ostler_store::AcceptOutcome;
use schemars::JsonSchema;
use serde::Serialize;

use crate::body;
use crate::error::Result;
use crate::orgs::PathId;
use crate::rate_limits::RateKey;
use crate::route::Access;
use crate::route::{Route, post};
use crate::server::{ClientAddress, Server};

/// The statuses of requests that belong to nobody.
const UNAUTHORIZED: u16 = 401;
const NOT_FOUND: u16 = 404;

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
    /// Handled at once, with this text for the page of a web chat to show.
    Reply(String),
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
            InboundOutcome::Replied(text) => Self::Reply(text),
            InboundOutcome::Ignored(why) => Self::Ignored(why),
        }
    }
}

pub(crate) async fn receive(
    State(server): State<Server>,
    Extension(client): Extension<ClientAddress>,
    PathId(binding): PathId,
    request: Request,
) -> Result<Json<WebhookResponse>> {
    let binding = body::parse_id(&binding, "binding")?;
    let (head, body) = request.into_parts();
    let (now, from) = (server.deps.clock.now(), RateKey::address(client.0));
    server.rates.check(&from, now)?;
    let received = accept(&server, binding, &head.headers, body).await;
    // Requests without a valid signature use up the tokens of the address.
    match received {
        Err(error) if error.0.status == UNAUTHORIZED || error.0.status == NOT_FOUND => {
            server.rates.take(from, now)?;
            Err(error)
        }
        other => other,
    }
}

/// Accepts a request. Everything that the headers tell is checked before the body is read.
async fn accept(
    server: &Server,
    binding: BindingId,
    headers: &HeaderMap,
    body: Body,
) -> Result<Json<WebhookResponse>> {
    let receiver = &server.deps.receiver;
    let webhook = receiver.check_headers(binding, headers).await?;
    let now = server.deps.clock.now();
    server.rates.take(RateKey::Binding(binding), now)?;
    server.rates.take(RateKey::Org(webhook.org()), now)?;
    let body = server.bodies.read(body, MAX_BODY_BYTES).await?;
    let taken = webhook.receive(headers, body.bytes).await?;
    Ok(Json(taken.into()))
}
