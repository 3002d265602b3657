//! Which chat it is, whether the page may embed it, and that its browser may
//! read the answers.

use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ostler_api::problem::Code;
use ostler_channels::BindingConfig;
use ostler_channels::connection::Connection;
use ostler_channels::webchat::{Visitor, Webchat};
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::session::key::{ConversationKey, Entry, Peer};
use ostler_domain::time::Timestamp;
use ostler_store::StoreError;

use crate::body;
use crate::refused::{Refused, Result};
use crate::server::Server;

/// A chat that is open.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) org: OrgId,
    pub(crate) binding: BindingId,
    chat: Webchat,
}

impl Door {
    pub(crate) const fn chat(&self) -> &Webchat {
        &self.chat
    }

    /// The visitor that a token stands for, and their conversation.
    pub(crate) fn visitor(&self, token: &str, now: Timestamp) -> Result<ConversationKey> {
        let Visitor { identifier } = self.chat.visitor(token, now).map_err(|error| {
            Refused::new(Code::Unauthorized, format!("{error}; ask for a new token"))
        })?;
        let (org, binding) = (self.org, self.binding);
        let (peer, entry) = (Peer::Person(identifier), Entry::Customer);
        Ok(ConversationKey { org, binding, peer, entry })
    }
}

/// Lets pages pass that may embed the chat.
pub(crate) async fn pass(
    State(server): State<Server>,
    names: RawPathParams,
    mut request: Request,
    next: Next,
) -> Response {
    let binding = names.iter().find(|(name, _)| *name == "binding").map(|(_, value)| value);
    let origin = request.headers().get(header::ORIGIN).cloned();
    let door = match open(&server, binding.unwrap_or_default(), origin.as_ref()).await {
        Ok(door) => door,
        Err(refused) => return refused.into_response(),
    };
    request.extensions_mut().insert(door);
    let mut answer = next.run(request).await;
    if let Some(origin) = origin {
        readable(answer.headers_mut(), origin);
    }
    answer
}

async fn open(server: &Server, binding: &str, origin: Option<&HeaderValue>) -> Result<Door> {
    let id: BindingId = body::id(binding, "chat")?;
    let (org, bound) = match server.parts.store.binding(id).await {
        Ok((org, bound)) if bound.binding.enabled => (org, bound),
        Ok(_) | Err(StoreError::NotFound(_)) => return Err(Refused::not_found("chat")),
        Err(other) => return Err(other.into()),
    };
    let (binding, settings, secret) = (bound.binding, bound.settings, bound.secret);
    if binding.channel != ostler_domain::channel::Channel::Webchat {
        return Err(Refused::not_found("chat"));
    }
    let config = BindingConfig { org, binding, settings, secret };
    let Connection::Webchat(chat) = server.parts.channels.open(&config)? else {
        return Err(Refused::not_found("chat"));
    };
    let allowed = |origin: &HeaderValue| origin.to_str().is_ok_and(|text| chat.allows_origin(text));
    if origin.is_some_and(|origin| !allowed(origin)) {
        return Err(Refused::new(Code::ForeignOrigin, "this page may not embed the chat"));
    }
    Ok(Door { org, binding: id, chat })
}

/// Lets the page's browser read an answer.
fn readable(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
}

/// A browser asks whether the page may ask.
pub(crate) async fn asked() -> impl IntoResponse {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, last-event-id"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers)
}
