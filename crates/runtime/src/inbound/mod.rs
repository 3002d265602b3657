//! The way of a customer's message: accepted once, answered inside a harness,
//! committed once.
//!
//! A worker takes the lease of a conversation and answers what waits in it, in
//! order. The steps have the numbers they are known by; the session comes first,
//! because it decides who answers, and the tools come before the prompt, because
//! the prompt describes them:
//!
//! | step | what | file |
//! |---|---|---|
//! | 3 | the session | `step_03_session` |
//! | 1 | the agent | `step_01_agent` |
//! | | whether it goes to a person instead | `triggers` |
//! | 2 | how often it may answer | `step_02_rate` |
//! | 4 | the contact, and what the org knows | `step_04_context` |
//! | | what an answer in a guided session says | `interview` |
//! | 7 | the tools | `step_07_tools` |
//! | 5 | the prompt | `step_05_prompt` |
//! | 6 | the history | `step_06_history` |
//! | 7.5 | the credits | `step_07b_credits` |
//! | 8, 9 | the model and the tools | `step_08_turn` |
//! | 10-13 | messages, counters, the record, the reply | `step_10_messages`, `step_11_stats`, `step_12_record`, `step_13_reply` |
//!
//! What a channel brings becomes a row in [`receive`]; `answer` lists the steps in
//! order, `assemble` those before the model. What a model is asked beside the answer (a `summary`, the reading of an
//! `interview`) is a `small_turn`.

pub mod accept;
mod answer;
mod assemble;
mod bell;
pub(crate) mod case;
mod claims;
mod decision;
pub(crate) mod draft;
mod host;
mod housekeeping;
mod input;
mod interview;
pub mod live;
mod media;
pub mod receive;
mod run;
mod saved;
mod small_turn;
mod step_01_agent;
mod step_02_rate;
pub(crate) mod step_03_session;
mod step_04_context;
pub(crate) mod step_05_prompt;
pub(crate) mod step_06_history;
pub(crate) mod step_07_tools;
pub(crate) mod step_07b_credits;
mod step_08_turn;
mod step_10_messages;
mod step_11_stats;
pub(crate) mod step_12_record;
pub(crate) mod step_13_reply;
mod summary;
mod texts;
mod trace;
mod triggers;
mod worker;

pub use worker::{RunError, Worker};
