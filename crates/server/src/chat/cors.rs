//! Opens the chat of a request, checks the origin of the page that embeds it, and
//! lets its browser read the response (CORS).

use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ostler_api::problem::ProblemCode;
use ostler_channels::BindingConfig;
use ostler_channels::connection::ChannelConnection;
use ostler_channels::error::ReceiveError;
use ostler_channels::webchat::{Visitor, Webchat};
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::session::key::ConversationKey;
use ostler_domain::time::Timestamp;
use ostler_runtime::shared_bot::shared_bot;
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
    /// The absolute URL of the chat, without a scheme if the server does not know its own.
    pub(crate) url: String,
}

impl OpenChat {
    pub(crate) const fn chat(&self) -> &Webchat {
        &self.chat
    }

    /// Returns the visitor with this token.
    pub(crate) fn visitor(&self, token: &str, now: Timestamp) -> Result<Visitor> {
        self.chat.verify_token(token, now).map_err(|error| unauthorized(&error))
    }

    /// Returns the conversation of a visitor. The owner of the org has one with its PM.
    pub(crate) async fn conversation_key(
        &self,
        server: &Server,
        visitor: &Visitor,
    ) -> Result<ConversationKey> {
        let receiver = &server.deps.receiver;
        let key = receiver.visitor_conversation(self.org, self.binding, &visitor.identifier);
        Ok(key.await?)
    }
}

/// Returns the problem of a token or ticket that is not accepted.
pub(crate) fn unauthorized(error: &ReceiveError) -> ApiError {
    ApiError::new(ProblemCode::Unauthorized, error.to_string())
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
    let host = request_host(&request);
    let opened = open_chat(&server, binding.unwrap_or_default(), origin.as_ref(), &host).await;
    let chat = match opened {
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
    host: &str,
) -> Result<OpenChat> {
    let id: BindingId = body::parse_id(binding, "chat")?;
    let (org, stored) = match server.deps.store.binding(id).await {
        Ok((org, stored)) if stored.binding.enabled => (org, stored),
        Ok(_) | Err(StoreError::NotFound(_)) => return Err(ApiError::not_found("chat")),
        Err(other) => return Err(other.into()),
    };
    let is_shared = shared_bot(&stored).is_some();
    let (binding, settings, secret) = (stored.binding, stored.settings, stored.secret);
    if is_shared || binding.channel != ostler_domain::channel::Channel::Webchat {
        return Err(ApiError::not_found("chat"));
    }
    let config = BindingConfig { org, binding, settings, secret };
    let ChannelConnection::Webchat(chat) = server.deps.channels.open(&config)? else {
        return Err(ApiError::not_found("chat"));
    };
    let public = server.deps.public_url.as_deref().unwrap_or_default();
    let own = [host, public.split_once("://").map_or(public, |(_, host)| host)];
    let allowed =
        |origin: &HeaderValue| origin.to_str().is_ok_and(|text| chat.allows_origin(text, &own));
    if origin.is_some_and(|origin| !allowed(origin)) {
        return Err(ApiError::new(ProblemCode::ForeignOrigin, "this page may not embed the chat"));
    }
    let url = match public {
        "" => format!("//{host}/chat/{id}"),
        public => format!("{public}/chat/{id}"),
    };
    Ok(OpenChat { org, binding: id, chat, url })
}

/// Returns the host that a request is addressed to.
fn request_host(request: &Request) -> String {
    let header = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let authority = request.uri().authority().map(axum::http::uri::Authority::as_str);
    header.or(authority).unwrap_or_default().to_owned()
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
