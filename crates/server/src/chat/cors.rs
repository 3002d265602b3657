//! Opens the chat of a request, checks the origin of the page that embeds it, and
//! lets its browser read the response (CORS).

use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ostler_api::problem::ProblemCode;
use ostler_channels::BindingConfig;
use ostler_channels::connection::ChannelConnection;
use ostler_channels::webchat::{Visitor, Webchat};
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_domain::time::Timestamp;
use ostler_store::StoreError;

use crate::body;
use crate::error::{ApiError, Result};
use crate::server::Server;

/// The web chat binding of a request.
#[derive(Debug, Clone)]
pub(crate) struct OpenChat {
    pub(crate) org: OrgId,
    pub(crate) binding: BindingId,
    chat: Webchat,
}

impl OpenChat {
    pub(crate) const fn chat(&self) -> &Webchat {
        &self.chat
    }

    /// Returns the conversation of the visitor with this token.
    pub(crate) fn conversation_key(&self, token: &str, now: Timestamp) -> Result<ConversationKey> {
        let Visitor { identifier } = self.chat.verify_token(token, now).map_err(|error| {
            ApiError::new(ProblemCode::Unauthorized, format!("{error}; request a new token"))
        })?;
        let (org, binding) = (self.org, self.binding);
        let (peer, entry) = (Peer::Person(identifier), ConversationEntry::Customer);
        Ok(ConversationKey { org, binding, peer, entry })
    }
}

/// Middleware: rejects pages that may not embed the chat.
pub(crate) async fn check_origin(
    State(server): State<Server>,
    params: RawPathParams,
    mut request: Request,
    next: Next,
) -> Response {
    let binding = params.iter().find(|(name, _)| *name == "binding").map(|(_, value)| value);
    let origin = request.headers().get(header::ORIGIN).cloned();
    let chat = match open_chat(&server, binding.unwrap_or_default(), origin.as_ref()).await {
        Ok(chat) => chat,
        Err(error) => return error.into_response(),
    };
    request.extensions_mut().insert(chat);
    let mut response = next.run(request).await;
    if let Some(origin) = origin {
        allow_origin(response.headers_mut(), origin);
    }
    response
}

async fn open_chat(
    server: &Server,
    binding: &str,
    origin: Option<&HeaderValue>,
) -> Result<OpenChat> {
    let id: BindingId = body::parse_id(binding, "chat")?;
    let (org, stored) = match server.deps.store.binding(id).await {
        Ok((org, stored)) if stored.binding.enabled => (org, stored),
        Ok(_) | Err(StoreError::NotFound(_)) => return Err(ApiError::not_found("chat")),
        Err(other) => return Err(other.into()),
    };
    let (binding, settings, secret) = (stored.binding, stored.settings, stored.secret);
    if binding.channel != ostler_domain::channel::Channel::Webchat {
        return Err(ApiError::not_found("chat"));
    }
    let config = BindingConfig { org, binding, settings, secret };
    let ChannelConnection::Webchat(chat) = server.deps.channels.open(&config)? else {
        return Err(ApiError::not_found("chat"));
    };
    let allowed = |origin: &HeaderValue| origin.to_str().is_ok_and(|text| chat.allows_origin(text));
    if origin.is_some_and(|origin| !allowed(origin)) {
        return Err(ApiError::new(ProblemCode::ForeignOrigin, "this page may not embed the chat"));
    }
    Ok(OpenChat { org, binding: id, chat })
}

/// Lets the page's browser read the response.
fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
}

/// Answers a preflight request.
pub(crate) async fn preflight() -> impl IntoResponse {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, last-event-id"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers)
}
