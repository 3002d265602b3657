//! What a handler takes and returns, from its types.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::{Extension, Json};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::body::{JsonBody, QueryParams};
use crate::caller::Caller;
use crate::chat::cors::OpenChat;
use crate::error::Result;
use crate::orgs::{OrgRequest, PathId, PathIds};
use crate::server::ClientAddress;

/// Returns the schema of a type and adds its definitions to a generator.
pub(crate) type TypeSchema = fn(&mut SchemaGenerator) -> Schema;

/// The content of a body.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    pub(crate) media_type: &'static str,
    pub(crate) schema: Option<TypeSchema>,
}

impl Content {
    pub(crate) const fn json(schema: TypeSchema) -> Self {
        Self { media_type: "application/json", schema: Some(schema) }
    }
}

/// What a handler takes and returns.
#[derive(Default)]
pub(crate) struct Operation {
    pub(crate) query: Option<TypeSchema>,
    pub(crate) body: Option<Content>,
    pub(crate) example: Option<serde_json::Value>,
    /// The responses with which it succeeds.
    pub(crate) responses: Vec<(u16, Option<Content>)>,
    /// Whether it works in the org of its path.
    pub(crate) uses_org: bool,
    /// Whether it wants to know the caller.
    pub(crate) uses_caller: bool,
    /// Whether it works for a visitor of the web chat.
    pub(crate) uses_chat: bool,
    /// Whether its answer has the version of what it returns.
    pub(crate) has_version: bool,
    /// Whether a change can be based on a version.
    pub(crate) checks_version: bool,
    /// Statuses of problems that do not follow from the rest.
    pub(crate) problems: Vec<u16>,
}

/// Returns the schema of a type.
pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A handler with a description. `T` is as in [`axum::handler::Handler`].
pub(crate) trait Described<T> {
    fn describe(operation: &mut Operation);
}

/// A parameter of a handler.
pub(crate) trait Input {
    fn describe(operation: &mut Operation);
}

/// The result of a handler.
pub(crate) trait Output {
    fn describe(operation: &mut Operation);
}

impl Input for OrgRequest {
    fn describe(operation: &mut Operation) {
        operation.uses_org = true;
    }
}

impl Input for Extension<Caller> {
    fn describe(operation: &mut Operation) {
        operation.uses_caller = true;
    }
}

impl Input for Extension<OpenChat> {
    fn describe(operation: &mut Operation) {
        operation.uses_chat = true;
    }
}

impl Input for ClientAddress {
    fn describe(_: &mut Operation) {}
}

impl Input for Extension<ClientAddress> {
    fn describe(_: &mut Operation) {}
}

impl Input for HeaderMap {
    fn describe(_: &mut Operation) {}
}

impl<T: JsonSchema> Input for JsonBody<T> {
    fn describe(operation: &mut Operation) {
        operation.body = Some(Content::json(schema_of::<T>));
    }
}

impl<T: JsonSchema> Input for QueryParams<T> {
    fn describe(operation: &mut Operation) {
        operation.query = Some(schema_of::<T>);
    }
}

impl<S> Input for State<S> {
    fn describe(_: &mut Operation) {}
}

impl<T> Input for Path<T> {
    fn describe(_: &mut Operation) {}
}

impl Input for PathId {
    fn describe(_: &mut Operation) {}
}

impl Input for PathIds {
    fn describe(_: &mut Operation) {}
}

impl Input for Request<Body> {
    fn describe(_: &mut Operation) {}
}

impl<T: Output> Output for Result<T> {
    fn describe(operation: &mut Operation) {
        T::describe(operation);
    }
}

impl<T: JsonSchema> Output for Json<T> {
    fn describe(operation: &mut Operation) {
        operation.responses.push((200, Some(Content::json(schema_of::<T>))));
    }
}

/// A record was created, unless the route says another status.
impl<T: JsonSchema> Output for (StatusCode, Json<T>) {
    fn describe(operation: &mut Operation) {
        operation.responses.push((201, Some(Content::json(schema_of::<T>))));
    }
}

/// No content.
impl Output for StatusCode {
    fn describe(operation: &mut Operation) {
        operation.responses.push((204, None));
    }
}

/// The route says what is returned.
impl Output for Response {
    fn describe(_: &mut Operation) {}
}

macro_rules! described {
    ($(($($input:ident),*))*) => {$(
        impl<F, Out, R, M, $($input),*> Described<(M, $($input,)*)> for F
        where
            F: FnOnce($($input),*) -> Out,
            Out: Future<Output = R>,
            R: Output,
            $($input: Input,)*
        {
            fn describe(operation: &mut Operation) {
                $(<$input as Input>::describe(operation);)*
                <R as Output>::describe(operation);
            }
        }
    )*};
}

described! {
    (A)
    (A, B)
    (A, B, C)
    (A, B, C, D)
    (A, B, C, D, E)
}

impl<F, Out, R> Described<((),)> for F
where
    F: FnOnce() -> Out,
    Out: Future<Output = R>,
    R: Output,
{
    fn describe(operation: &mut Operation) {
        R::describe(operation);
    }
}
