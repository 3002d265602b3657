//! The HTTP API: what travels over it, and a client.
//!
//! Owns the names on the wire, which stay as they are once they are out: a field
//! may be added, none is renamed or changes its meaning. It knows nothing of how
//! things are stored or decided. Times are milliseconds since 1970 in UTC.
//!
//! | module | what it owns |
//! |---|---|
//! | [`problem`] | errors, with codes that programs can rely on |
//! | [`page`] | lists, page by page |
//! | [`session`] | conversations: looking, taking over, writing, handing back |
//! | [`approval`], [`escalation`], [`dead_letter`], [`unknown_call`], [`notice`] | what waits for a person |
//! | [`credit`] | accounts and ledgers |
//! | [`knowledge`] | documents |
//! | [`event`] | what happens, as it happens |
//! | [`client`] | a program that asks |

pub mod approval;
pub mod client;
pub mod credit;
pub mod dead_letter;
pub mod escalation;
pub mod event;
pub mod knowledge;
pub mod notice;
pub mod page;
pub mod problem;
pub mod session;
pub mod unknown_call;
pub mod who;
