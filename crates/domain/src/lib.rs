//! The rules of Ostler: pure values and functions.
//!
//! Everything that is a decision is here, and nothing else: no async, no I/O,
//! no clock (rules take `now`), no randomness. A rule takes values and returns
//! a decision that explains itself; the crates above perform it.
//!
//! | folder | the question it answers |
//! |---|---|
//! | [`org`] | who is above whom, and what does a business layer allow |
//! | [`agent`] | what is an agent, who answers, who may change it |
//! | [`soul`] | what is an agent's personality, and who may change that |
//! | [`tool`] | what does a tool touch and cost |
//! | [`scope`] | which tools does an agent have in this session, and why not the rest |
//! | [`gate`] | may this call run, must it be refused, must it wait for a person |
//! | [`money`] | what does it cost, who pays, when is it enough |
//! | [`session`] | when does a conversation live, end, narrow |
//! | [`team`] | how do agents hand over to each other |
//! | [`human`] | when does a person take over, and what then |
//! | [`hierarchy`] | what travels between business layers |
//! | [`knowledge`] | what does an org know, and what of it fits a question |
//! | [`prompt`] | what is the model told |
//! | [`dispatch`] | which agent on the bus may do what, when, and what if it fails |
//! | [`workflow`] | which step of a durable graph comes next, and what is undone |
//! | [`channel`] | through what is something sent, and what if it fails |
//!
//! Beside them stand the words that all of them use: [`id`], [`time`],
//! [`mod@reference`] codes, [`message`] parts, [`contact`], [`notice`], [`audit`],
//! [`retry`], [`secret`] and network [`address`]es.
//!
//! A ruling says why, so that nobody has to guess:
//!
//! ```
//! use ostler_domain::agent::subtype::Subtype;
//! use ostler_domain::id::OrgId;
//! use ostler_domain::org::Place;
//! use ostler_domain::org::layer::{BusinessLayer, business_layer};
//!
//! let client = Place::SubOrg { parent: OrgId::from_u128(1) };
//! let layer = business_layer(client, &Subtype::CustomerService);
//! assert_eq!(layer, BusinessLayer::EndCustomer);
//! assert_eq!(layer.to_string(), "business layer 4 (End-Customer)");
//! ```

pub mod address;
pub mod agent;
pub mod audit;
pub mod channel;
pub mod contact;
pub mod dispatch;
pub mod gate;
mod graph;
pub mod hierarchy;
pub mod human;
pub mod id;
pub mod knowledge;
pub mod message;
pub mod money;
pub mod notice;
pub mod org;
pub mod prompt;
pub mod reference;
pub mod retry;
pub mod scope;
pub mod secret;
pub mod session;
pub mod soul;
pub mod team;
pub mod time;
pub mod tool;
pub mod workflow;

#[cfg(test)]
mod testing;
