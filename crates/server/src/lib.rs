//! The HTTP server: web chat, webhooks, event streams and the API of operators.
//!
//! Owns authentication, limits on size and time, and the form of responses. It
//! makes no decisions: inbound messages go to the runtime's receiver, operators'
//! requests to its operations, and reads to the store.
//!
//! - Logs contain the method, the route pattern, the status and the duration, and
//!   never a query, a header or a body: event streams carry visitors' tokens in
//!   their queries.
//! - An API key is looked up even if the header does not contain one, so that the
//!   response time reveals nothing. Resources of another org are not found.
//! - An event stream reads the store from its own cursor. A task per org polls the
//!   end of the event log and wakes the streams; a late, repeated or lost wake-up
//!   costs time but neither gaps nor repeats.
//! - A visitor reads the threads of the conversation up to the first message that
//!   is not yet sent, without withdrawn ones. A takeover therefore stops a reply in
//!   the web chat as on any other channel.
//! - Bodies, requests, headers, connections and streams have limits, also per address, visitor
//!   and org; who sends too much is told when to come back. A reader that
//!   is too slow is disconnected and resumes at its cursor; every stream ends after
//!   an hour. A stopping server accepts no connections, ends its streams, lets
//!   requests finish and returns.
//!
//! | module | contents |
//! |---|---|
//! | `route` | the table of routes: what each needs, takes and returns |
//! | `routes` | the router of the table and the middleware around it |
//! | `openapi` | the OpenAPI document of the table, and a page that shows it |
//! | [`server`] | dependencies, accept loop, shutdown |
//! | `caller` | authentication by API key or log-in |
//! | `account` | log-in of people, and their own accounts |
//! | [`client_address`] | the client's address behind trusted proxies |
//! | [`rate_limits`] | token buckets per address, visitor, binding, key and org |
//! | `open_counts`, `write_deadline` | caps of streams and connections, and slow readers |
//! | [`local`] | the API within the process, for the operator at the machine |
//! | `idempotency` | requests repeated with the same `Idempotency-Key` |
//! | `shown_once` | responses with a secret, which are not stored |
//! | [`metrics`] | what is measured of requests, and the listener of Prometheus |
//! | `error` | every error as a problem |
//! | `event_tail` | one poller of the event log per org, shared by its streams |
//! | [`threads`] | the threads of the interactive harness that are open here |
//! | `stream` | server-sent events with back-pressure, heartbeats and a maximum age |
//! | [`wire`] | stored values as wire types |
//! | [`transcript`] | conversations as people read them |
//! | `dashboard` | the files of the dashboard |
//! | `agent_reply` | waiting for the answer to a request |
//! | `completions` | agents as models of the OpenAI API |
//! | `mcp` | agents, sessions and approvals as tools of the Model Context Protocol |
//! | `chat`, `webhooks`, `events`, `orgs`, `health` | the handlers |

mod account;
mod agent_reply;
mod body;
mod caller;
mod chat;
pub mod client_address;
mod completions;
mod dashboard;
mod error;
mod event_tail;
mod events;
mod health;
mod idempotency;
pub mod local;
mod mcp;
pub mod metrics;
mod open_counts;
mod openapi;
mod orgs;
mod queues;
pub mod rate_limits;
mod refusals;
mod resources;
mod route;
mod routes;
pub mod server;
mod shown_once;
mod stream;
pub mod threads;
pub mod transcript;
mod webhooks;
pub mod wire;
mod write_deadline;

pub use account::oidc::{ClientSecret, IdentityProvider};
pub use openapi::document;
pub use route::TableError;
pub use server::{ConfigHost, QueueBus, Server, ServerDeps, ServerLimits};
pub use threads::{ThreadOptions, ThreadOwner};
