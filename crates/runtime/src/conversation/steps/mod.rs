//! The steps of answering an input, in the order in which they run. Each module has one
//! entry function; [`super::pipeline`] calls them. A run's record and the trace
//! name the steps by these numbers.
//!
//! | step | what it does | module |
//! |---|---|---|
//! | 3 | finds the session of the message, or opens one | `session` |
//! | 13 | decides through which binding replies go out | `reply` |
//! | 1 | chooses the agent that answers | `agent` |
//! | | escalates the message, or hands it to a specialist, before any model is called | `triggers` |
//! | 2 | checks what the agent may still answer today | `rate_limit` |
//! | 4 | recognizes the contact and selects documents | `context` |
//! | | records an answer to the interview's open question | `interview` |
//! | | signs up a stranger whose interview is complete | `sign_up` |
//! | 7 | assembles the agent with its tool scope | `tools` |
//! | 5 | builds the system prompt | `prompt` |
//! | 6 | builds the history | `history` |
//! | 7.5 | reserves the credits | `credits` |
//! | 8, 9 | runs the model and the tools | `turn` |
//! | 10 | turns the outcome into messages, handovers and escalations | `messages` |
//! | 11 | counts messages and cost | `stats` |
//! | | ends the session of a request whose caller keeps the conversation | `request` |
//! | 12 | commits the run with its record | `record` |
//!
//! The session comes first because it decides who answers. The tools come before the
//! prompt because the prompt describes them. The reply route is known before anything is
//! said, because every message is put into the outbox when it is written.

pub(crate) mod agent;
pub(crate) mod context;
pub(crate) mod credits;
pub(crate) mod history;
pub(crate) mod interview;
pub(crate) mod messages;
pub(crate) mod prompt;
pub(crate) mod rate_limit;
pub(crate) mod record;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod session;
pub(crate) mod sign_up;
pub(crate) mod stats;
pub(crate) mod tools;
pub(crate) mod triggers;
pub(crate) mod turn;
