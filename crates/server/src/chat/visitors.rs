//! Tokens for visitors.

use std::hash::{BuildHasher as _, RandomState};

use axum::extract::State;
use axum::{Extension, Json};
use ostler_channels::webchat::{VisitorTokenRequest, VisitorTokenResponse};

use super::cors::OpenChat;
use crate::body::JsonBody;
use crate::error::Result;
use crate::rate_limits::RateKey;
use crate::server::{ClientAddress, Server};

/// Makes a token for a new visitor.
pub(crate) async fn create(
    State(server): State<Server>,
    Extension(chat): Extension<OpenChat>,
    Extension(client): Extension<ClientAddress>,
    JsonBody(hello): JsonBody<VisitorTokenRequest>,
) -> Result<Json<VisitorTokenResponse>> {
    let now = server.deps.clock.now();
    server.rates.take(RateKey::new_visitor(client.0), now)?;
    Ok(Json(chat.chat().issue_token(&hello, visitor_number(), now)?))
}

/// Returns a random number for a visitor. It need not be secret: the token that
/// carries it is signed.
fn visitor_number() -> u128 {
    let half = || u128::from(RandomState::new().hash_one(std::process::id()));
    half() << 64 | half()
}
