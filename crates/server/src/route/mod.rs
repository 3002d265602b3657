//! A route: its method and path, what it needs, its handler, and its description, which comes
//! from the types of the handler. There is no other way to add a handler to the server, so no
//! route is without an entry in the table of what routes need.

pub(crate) mod access;
pub(crate) mod describe;
mod table;

use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use serde_json::Value;

pub(crate) use access::Access;
pub(crate) use describe::{Content, Described, Operation, TypeSchema};
pub use table::TableError;
pub(crate) use table::{check, groups};

use crate::server::Server;

/// A route of the server.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// The whole path, with `{name}` for parameters.
    pub(crate) path: String,
    pub(crate) access: Access,
    pub(crate) protocol: Protocol,
    /// The name of the operation for generated clients. It never changes.
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) operation: Operation,
    pub(crate) repeats: Repeats,
    pub(crate) duration: RouteDuration,
    pub(crate) handler: MethodRouter<Server>,
}

/// What a repeat of a POST with the same `Idempotency-Key` gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// The response of the first, which is stored unless it has a secret.
    SameResponse,
    /// It runs again, because that does no harm.
    RunAgain,
}

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteDuration {
    Usual,
    /// It waits for the answer of an agent.
    Answer,
}

/// The protocol that a route speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The product's own: errors are problems, and a change runs to its end.
    Ostler,
    /// That of the OpenAI API: errors have its form, and who disconnects aborts the turn.
    OpenAi,
    /// The Model Context Protocol: who disconnects cancels the call.
    Mcp,
}

/// Routes about the same thing, for the document.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) routes: Vec<Route>,
}

impl Route {
    fn new<H, T>(
        (method, filter): (Method, MethodFilter),
        access: Access,
        path: &str,
        (id, summary): (&'static str, &'static str),
        handler: H,
    ) -> Self
    where
        H: Handler<T, Server> + Described<T>,
        T: 'static,
    {
        let path = format!("{}{path}", access.prefix());
        let mut operation = Operation::default();
        H::describe(&mut operation);
        let (protocol, handler) = (Protocol::Ostler, on(filter, handler));
        let (repeats, duration) = (Repeats::SameResponse, RouteDuration::Usual);
        Self { method, path, access, protocol, id, summary, operation, repeats, duration, handler }
    }

    /// Sets an example of the request's body.
    pub(crate) fn example(mut self, example: Value) -> Self {
        self.operation.example = Some(example);
        self
    }

    /// Sets the type of the body, for handlers that read it themselves.
    pub(crate) fn takes(mut self, body: TypeSchema) -> Self {
        self.operation.body = Some(Content::json(body));
        self
    }

    /// Sets a body of another media type than JSON.
    pub(crate) fn takes_content(mut self, media_type: &'static str) -> Self {
        self.operation.body = Some(Content { media_type, schema: None });
        self
    }

    /// Sets the type of the response, for handlers that do not say it.
    pub(crate) fn returns(mut self, response: TypeSchema) -> Self {
        let responses = self.operation.responses.iter();
        let status = responses.map(|(status, _)| *status).next().unwrap_or(200);
        self.operation.responses = vec![(status, Some(Content::json(response)))];
        self
    }

    /// Sets the media type of a response that is not JSON.
    pub(crate) fn returns_content(mut self, media_type: &'static str) -> Self {
        self.operation.responses = vec![(200, Some(Content { media_type, schema: None }))];
        self
    }

    /// Adds statuses of problems that do not follow from the path and the parameters.
    pub(crate) fn fails_with(mut self, statuses: &[u16]) -> Self {
        self.operation.problems.extend(statuses);
        self
    }

    /// Says that the response may also be a stream of events.
    pub(crate) fn or_streams(mut self) -> Self {
        let content = Content { media_type: "text/event-stream", schema: None };
        self.operation.responses.push((200, Some(content)));
        self
    }

    /// Puts the route beside the versioned ones.
    pub(crate) fn at_root(mut self) -> Self {
        let path = self.path.strip_prefix(self.access.prefix()).map(str::to_owned);
        self.path = path.unwrap_or(self.path);
        self
    }

    /// Sets the protocol, which is another one than the product's own: its requests wait for
    /// agents.
    pub(crate) fn speaks(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self.waits_for_answer()
    }

    /// Gives the request the time that an agent has for its answer.
    pub(crate) const fn waits_for_answer(mut self) -> Self {
        self.duration = RouteDuration::Answer;
        self
    }

    /// Runs each time, and never stores the response, because it changes nothing.
    pub(crate) const fn runs_again(mut self) -> Self {
        self.repeats = Repeats::RunAgain;
        self
    }

    /// Sets the statuses with which the handler succeeds.
    pub(crate) fn statuses(mut self, statuses: &[u16]) -> Self {
        let body = self.operation.responses.pop().and_then(|(_, body)| body);
        self.operation.responses = statuses.iter().map(|status| (*status, body)).collect();
        self
    }

    /// Whether the request runs once for an `Idempotency-Key`.
    pub(crate) fn runs_once(&self) -> bool {
        let is_own = self.protocol == Protocol::Ostler;
        is_own
            && self.repeats != Repeats::RunAgain
            && self.method == Method::POST
            && self.access.needs_caller()
    }
}

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident = $method:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name<H, T>(
            access: impl Into<Access>,
            path: &str,
            id: &'static str,
            summary: &'static str,
            handler: H,
        ) -> Route
        where
            H: Handler<T, Server> + Described<T>,
            T: 'static,
        {
            let method = (Method::$method, MethodFilter::$method);
            Route::new(method, access.into(), path, (id, summary), handler)
        }
    )*};
}

methods! {
    /// A route that reads.
    get = GET;
    /// A route that creates or does something.
    post = POST;
    /// A route that sets a value.
    put = PUT;
    /// A route that changes fields.
    patch = PATCH;
    /// A route that removes something.
    delete = DELETE;
}
