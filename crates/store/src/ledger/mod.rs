//! Credits: accounts, reservations and the lines of the ledger.
//!
//! The rule is `ostler_domain::money::ledger`. An operation that changes an
//! account holds its row, applies the rule and writes back, in a transaction
//! that does nothing else. A turn's commit never waits for an account: it
//! writes what the turn cost to the turn's own reservation, and that is applied
//! later, for many turns together. Until then the credits stay reserved, so
//! nothing can be spent twice.

mod accounts;
mod book;
mod check;
mod lines;
mod reserve;
mod reserving;
mod settle;

pub use accounts::NewGrant;
pub use check::{Imbalance, LedgerCheck};
pub use lines::{LedgerLine, LineKind};
pub use reserve::{NewReservation, Reserved};
pub use settle::Settle;

pub(crate) use accounts::{Grant, change_plan, open_account};
pub(crate) use reserving::Reserving;
pub(crate) use settle::charge;
