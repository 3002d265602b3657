//! Letting visitors in.

use std::hash::{BuildHasher as _, RandomState};

use axum::extract::State;
use axum::{Extension, Json};
use ostler_channels::webchat::{Hello, Welcome};

use super::door::Door;
use crate::body::Said;
use crate::refused::Result;
use crate::server::Server;

/// Gives a visitor a token.
pub(crate) async fn welcome(
    State(server): State<Server>,
    Extension(door): Extension<Door>,
    Said(hello): Said<Hello>,
) -> Result<Json<Welcome>> {
    let now = server.parts.clock.now();
    Ok(Json(door.chat().welcome(&hello, number(), now)?))
}

/// A number that no other visitor has. It need not be secret: the token that
/// names it is signed.
fn number() -> u128 {
    let half = || u128::from(RandomState::new().hash_one(std::process::id()));
    half() << 64 | half()
}
