//! The rules of Ostler: pure values and functions.
//!
//! Every decision is made here: no async, no I/O, no clock (rules take `now`), no
//! randomness (rules take a random number), no floats. A rule takes values and returns a
//! decision with its reason; the crates above perform it.
//!
//! | module | contents |
//! |---|---|
//! | [`org`] | the org tree, business layers, guardrails, roles and permissions |
//! | [`login`] | passwords, how long a log-in lasts and how often one may be tried |
//! | [`agent`] | agents, routing to an agent, who may change one |
//! | [`soul`] | versioned personalities, and proposals to change them |
//! | [`tool`] | what a tool affects and costs |
//! | [`scope`] | which tools an agent has in a session, and why not the others |
//! | [`gate`] | whether a tool call runs, is refused or needs approval |
//! | [`money`] | prices, credit accounts, budgets and caps |
//! | [`session`] | lifetime, status and errors of a session |
//! | [`team`] | handoffs between agents in one session |
//! | [`human`] | escalation to a person and takeover |
//! | [`hierarchy`] | issues, delegations and insights between business layers |
//! | [`knowledge`] | documents of an org and their search |
//! | [`prompt`] | the system prompt |
//! | [`memory`] | how a long thread stays within a bounded prompt |
//! | [`queue_agent`] | agents on the bus: authority, selection, deadlines, failures |
//! | [`workflow`] | durable graphs of steps: what runs next, what is undone |
//! | [`channel`] | channels, their bindings, and the retry of sends |
//! | [`event`] | what happens in an org: the kinds of events and their data |
//! | [`webhook`] | addresses to which events are sent: retries, and when one is switched off |
//! | [`run_diff`] | what changes when a stored run is run again |
//!
//! The modules share [`id`], [`time`], [`mod@reference`] codes, [`message`] parts,
//! [`contact`], [`business_data`], [`notice`], [`audit`], [`retry`], [`rate_limit`], [`secret`] and network [`address`]es.
//!
//! Four kinds of items recur:
//!
//! - **Decisions** take facts and return a result with its reason: [`scope::resolve`],
//!   [`team::handoff::validate`].
//! - **State machines** change a value on an event, or refuse the event and change
//!   nothing; they return what the runtime must do as effects: [`human::escalation`],
//!   [`session::status`].
//! - **Proofs** are values that only a check creates: a
//!   [`ValidHandoff`](team::handoff::ValidHandoff) comes from `validate` alone, and only
//!   it can be applied.
//! - **Data** are tables and texts to read and edit: the guardrail matrix, the tool
//!   catalogue, `human/phrases/*.txt`, `prompt/texts/*.md`.
//!
//! ```
//! use ostler_domain::agent::subtype::Subtype;
//! use ostler_domain::id::OrgId;
//! use ostler_domain::org::OrgPlace;
//! use ostler_domain::org::layer::{BusinessLayer, business_layer};
//!
//! let client = OrgPlace::SubOrg { parent: OrgId::from_u128(1) };
//! let layer = business_layer(client, &Subtype::CustomerService);
//! assert_eq!(layer, BusinessLayer::EndCustomer);
//! assert_eq!(layer.to_string(), "business layer 4 (End-Customer)");
//! ```

pub mod address;
pub mod agent;
pub mod audit;
pub mod business_data;
pub mod channel;
pub mod contact;
pub mod event;
pub mod gate;
mod graph;
pub mod hierarchy;
pub mod human;
pub mod id;
pub mod identity_check;
pub mod knowledge;
pub mod login;
pub mod memory;
pub mod message;
pub mod money;
pub mod notice;
pub mod org;
pub mod prompt;
pub mod queue_agent;
pub mod rate_limit;
pub mod reference;
pub mod refund;
pub mod retry;
pub mod run_diff;
pub mod scope;
pub mod secret;
pub mod session;
pub mod soul;
pub mod team;
pub mod time;
pub mod tool;
pub mod webhook;
pub mod workflow;

#[cfg(test)]
mod testing;
