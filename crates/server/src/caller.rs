//! Authentication by API key.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::{Extension, Json};
use ostler_api::me::Me;
use ostler_api::problem::ProblemCode;
use ostler_domain::id::OrgId;
use ostler_domain::secret::ApiKeySecret;
use ostler_runtime::operations::Actor;
use ostler_store::{ApiKey, Store, StoreError};

use crate::error::{ApiError, Result};
use crate::rate_limits::RateKey;
use crate::server::{ClientAddress, Server};

/// The API key of a request and its org.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) org: OrgId,
    pub(crate) key: ApiKey,
}

impl Caller {
    pub(crate) const fn actor(&self) -> Actor {
        Actor::Key { id: self.key.id, org: self.org, role: self.key.role }
    }
}

/// Middleware: rejects requests without a valid key.
pub(crate) async fn authenticate(
    State(server): State<Server>,
    Extension(client): Extension<ClientAddress>,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    let (now, from) = (server.deps.clock.now(), RateKey::address(client.0));
    server.rates.check(&from, now)?;
    let caller = match find_caller(&server.deps.store, request.headers()).await {
        Ok(caller) => caller,
        // Trying keys uses up the tokens of the address.
        Err(error) => {
            server.rates.take(from, now)?;
            return Err(error);
        }
    };
    server.rates.take(RateKey::Key(caller.key.id), now)?;
    server.rates.take(RateKey::Org(caller.org), now)?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Looked up when the header has no key, so that the response time is the same.
const NO_KEY: &str = "no-key-no-key-no-key-no-key-no-key-no-key";

async fn find_caller(store: &Store, headers: &HeaderMap) -> Result<Caller> {
    let refused =
        || ApiError::new(ProblemCode::Unauthorized, "send a valid API key as a bearer token");
    let text = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let text = text.and_then(|text| text.strip_prefix("Bearer ")).map(str::trim);
    let secret: Option<ApiKeySecret> = text.and_then(|text| text.parse().ok());
    let present = secret.is_some();
    let secret = secret.or_else(|| NO_KEY.parse().ok()).ok_or_else(refused)?;
    match store.authenticate(&secret).await {
        Ok((org, key)) if present => Ok(Caller { org, key }),
        Ok(_) | Err(StoreError::NotFound(_)) => Err(refused()),
        Err(other) => Err(other.into()),
    }
}

/// `GET /v1/me`.
pub(crate) async fn me(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Me>> {
    let org = server.deps.store.org(caller.org).org().await?;
    let ApiKey { id, name, role, .. } = caller.key;
    Ok(Json(Me { key: id, name, org: caller.org, slug: org.slug, role }))
}
