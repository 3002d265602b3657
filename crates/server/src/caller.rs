//! API keys: whom a request is from.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::{Extension, Json};
use ostler_api::problem::Code;
use ostler_api::who::Me;
use ostler_domain::id::OrgId;
use ostler_domain::secret::KeySecret;
use ostler_runtime::operations::Actor;
use ostler_store::{Key, Store, StoreError};

use crate::refused::{Refused, Result};
use crate::server::Server;

/// A key that was shown, and whose it is.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) org: OrgId,
    pub(crate) key: Key,
}

impl Caller {
    pub(crate) const fn actor(&self) -> Actor {
        Actor::Key { id: self.key.id, org: self.org, role: self.key.role }
    }
}

/// Lets nobody pass without a key.
pub(crate) async fn pass(
    State(server): State<Server>,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    let caller = caller(&server.parts.store, request.headers()).await?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// A text that is no key at all is looked for as well, so that nothing is told
/// by how long the answer takes.
const NO_KEY: &str = "no-key-no-key-no-key-no-key-no-key-no-key";

async fn caller(store: &Store, headers: &HeaderMap) -> Result<Caller> {
    let refused = || Refused::new(Code::Unauthorized, "send a valid API key as a bearer token");
    let text = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let text = text.and_then(|text| text.strip_prefix("Bearer ")).map(str::trim);
    let secret: Option<KeySecret> = text.and_then(|text| text.parse().ok());
    let shown = secret.is_some();
    let secret = secret.or_else(|| NO_KEY.parse().ok()).ok_or_else(refused)?;
    match store.authenticate(&secret).await {
        Ok((org, key)) if shown => Ok(Caller { org, key }),
        Ok(_) | Err(StoreError::NotFound(_)) => Err(refused()),
        Err(other) => Err(other.into()),
    }
}

/// Whom the key stands for.
pub(crate) async fn me(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Me>> {
    let org = server.parts.store.org(caller.org).org().await?;
    let Key { id, name, role, .. } = caller.key;
    Ok(Json(Me { key: id, name, org: caller.org, slug: org.slug, role }))
}
