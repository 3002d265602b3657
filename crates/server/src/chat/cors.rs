//! Opens the chat of a request, checks the origin of the page that embeds it, and
//! lets its browser read the response (CORS).

use axum::Extension;
use axum::extract::rejection::RawPathParamsRejection;
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

use crate::error::{ApiError, Result};
use crate::rate_limits::RateKey;
use crate::route::access::unreadable_path;
use crate::server::{ClientAddress, Server};
use crate::{body, refusals};

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

    /// Checks that the page of a request may embed the chat.
    fn check_page(&self, server: &Server, origin: Option<&HeaderValue>, host: &str) -> Result<()> {
        let public = server.deps.public_url.as_deref().unwrap_or_default();
        let own = [host, public.split_once("://").map_or(public, |(_, host)| host)];
        let allowed = |origin: &HeaderValue| {
            origin.to_str().is_ok_and(|text| self.chat.allows_origin(text, &own))
        };
        match origin.is_none_or(allowed) {
            true => Ok(()),
            false => {
                Err(ApiError::new(ProblemCode::ForeignOrigin, "this page may not embed the chat"))
            }
        }
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
    params: std::result::Result<RawPathParams, RawPathParamsRejection>,
    Extension(client): Extension<ClientAddress>,
    mut request: Request,
    next: Next,
) -> Response {
    let now = server.deps.clock.now();
    if let Err(error) = server.rates.take(RateKey::address(client.0), now) {
        return error.into_response();
    }
    let Ok(params) = params else { return unreadable_path().into_response() };
    let binding = params.iter().find(|(name, _)| *name == "binding").map(|(_, value)| value);
    let origin = request.headers().get(header::ORIGIN).cloned();
    let host = request_host(&request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let chat = match open_chat(&server, binding.unwrap_or_default(), &host).await {
        Ok(chat) => chat,
        Err(error) => return error.into_response(),
    };
    let (org, id) = (chat.org, chat.binding);
    let page = chat.check_page(&server, origin.as_ref(), &host);
    let origin = origin.filter(|_| page.is_ok());
    let mut response = match page {
        Ok(()) => {
            request.extensions_mut().insert(chat);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    refusals::audit_chat(&server, org, id, (&method, &path), response.status()).await;
    if let Some(origin) = origin {
        allow_origin(response.headers_mut(), origin);
    }
    response
}

async fn open_chat(server: &Server, binding: &str, host: &str) -> Result<OpenChat> {
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
    let url = match server.deps.public_url.as_deref().unwrap_or_default() {
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
