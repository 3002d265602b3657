//! The API within the process, for the operator at the machine: the same routes, checks and
//! responses as over the network, with every right and without rate limits.

use std::net::{IpAddr, Ipv4Addr};

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use ostler_api::problem::Problem;

use crate::caller::TerminalRequest;
use crate::error::{ApiError, InternalCause};
use crate::events::LAST_EVENT_ID;
use crate::server::{ClientAddress, Server};
use crate::{body, route, routes};

/// A request within the process.
#[derive(Debug, Clone, Copy)]
pub struct LocalRequest<'r> {
    /// `GET`, `POST`, …
    pub method: &'r str,
    /// The path with its query.
    pub path: &'r str,
    /// The address at which people would reach the server.
    pub host: &'r str,
    /// A JSON document, or nothing.
    pub body: &'r [u8],
    /// The id of the last event of a stream that is continued.
    pub last_event_id: Option<&'r str>,
}

/// The response to a request within the process.
#[derive(Debug, Clone)]
pub struct LocalResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

/// The bytes of a stream of events, in pieces.
pub type LocalStream = BodyDataStream;

/// The API of a server within its process.
#[derive(Debug, Clone)]
pub struct LocalApi(TowerToHyperService<axum::Router>);

impl LocalApi {
    /// Returns the API of a server.
    pub fn new(server: &Server) -> Self {
        Self(TowerToHyperService::new(routes::router(server, route::groups())))
    }

    /// Makes a request as the operator at the machine, who is told the causes of internal
    /// errors.
    pub async fn call(&self, sent: LocalRequest<'_>) -> LocalResponse {
        read(self.respond(sent).await).await
    }

    /// Opens a stream of events. A response that is none comes back whole.
    pub async fn open_stream(&self, sent: LocalRequest<'_>) -> Result<LocalStream, LocalResponse> {
        let response = self.respond(sent).await;
        match response.status().is_success() {
            true => Ok(response.into_body().into_data_stream()),
            false => Err(read(response).await),
        }
    }

    async fn respond(&self, sent: LocalRequest<'_>) -> Response {
        match request(sent) {
            Ok(request) => {
                let Ok(response) = self.0.call(request).await;
                response
            }
            Err(error) => error.into_response(),
        }
    }
}

fn request(sent: LocalRequest<'_>) -> Result<Request<Body>, ApiError> {
    let invalid = |error: axum::http::Error| ApiError::internal(&error);
    let method = Method::from_bytes(sent.method.as_bytes()).map_err(|error| invalid(error.into()));
    let mut request = Request::builder()
        .method(method?)
        .uri(sent.path)
        .body(Body::from(sent.body.to_vec()))
        .map_err(invalid)?;
    let headers = request.headers_mut();
    if !sent.body.is_empty() {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    let host = HeaderValue::try_from(sent.host).map_err(|error| invalid(error.into()))?;
    headers.insert(header::HOST, host);
    if let Some(id) = sent.last_event_id {
        let id = HeaderValue::try_from(id).map_err(|error| invalid(error.into()))?;
        headers.insert(LAST_EVENT_ID, id);
    }
    request.extensions_mut().insert(ClientAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    request.extensions_mut().insert(TerminalRequest);
    Ok(request)
}

async fn read(response: Response) -> LocalResponse {
    let (head, stream) = response.into_parts();
    let Ok(bytes) = body::read(stream, usize::MAX).await else {
        let status = StatusCode::INTERNAL_SERVER_ERROR.as_u16();
        return LocalResponse { status, body: Vec::new() };
    };
    let cause = head.extensions.get::<InternalCause>();
    let body = match (cause, serde_json::from_slice::<Problem>(&bytes)) {
        (Some(InternalCause(cause)), Ok(problem)) => {
            let told = Problem { detail: cause.clone(), ..problem };
            serde_json::to_vec(&told).unwrap_or_default()
        }
        _ => bytes.to_vec(),
    };
    LocalResponse { status: head.status.as_u16(), body }
}
