//! Credits: accounts, reservations, ledger lines and rate counters.
//!
//! The rules are in `ostler_domain::money::ledger`. An operation that changes an
//! account locks its row, applies the rules and writes back, in a transaction that
//! does nothing else. A turn's commit never waits for an account: it writes its
//! charges to the turn's own reservation, and these are applied later, for many turns
//! together. Until then the credits stay reserved, so nothing can be spent twice.

mod accounts;
mod check;
mod lines;
mod locked_accounts;
pub(crate) mod rate;
mod reservation_batch;
mod reservations;
mod settle;
mod spend;

pub use accounts::NewGrant;
pub use check::{AccountMismatch, LedgerCheck};
pub use lines::{LedgerLine, LedgerLineKind};
pub use reservations::{NewReservation, RemainingCredits};
pub use settle::TurnCharges;

pub(crate) use accounts::{
    change_plan, grant, grant_statements, is_granted, open_account, sharing, sharing_statements,
};
pub(crate) use lines::granted_amount as granted;
pub(crate) use reservation_batch::ReservationBatchers;
pub(crate) use settle::charge_statement;
