//! Personal data: all that an org keeps of one contact, to hand it over or to
//! delete it.
//!
//! A conversation is a contact's if they are who is recognized by its key; a
//! group's is nobody's alone and is left. What stays of somebody who was deleted
//! is the org's bookkeeping: ledger lines, and audit lines without their details.

mod erase;
mod export;
mod find;
mod tables;

use std::collections::BTreeMap;

use serde::Serialize;

pub use export::{ContactExport, Exported};
pub(crate) use find::with;

/// What an org keeps of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Personal {
    /// The contact itself, with what channels call them.
    Contact,
    /// A conversation with them.
    Conversation,
    /// A message that they sent and that was accepted.
    Inbound,
    /// A message that was sent to them, or is to be.
    Outbound,
    /// A turn that was begun and is not finished.
    Checkpoint,
    /// A call of a tool outside that was made for them.
    Call,
    /// A session.
    Session,
    /// A message of a session's thread.
    Message,
    /// A run.
    Run,
    /// Something that waits, or waited, for a person's approval.
    Approval,
    /// An event of a session.
    Event,
    /// A notice about any of these.
    Notice,
    /// A file beside the messages.
    File,
}

/// How much there is of each.
pub type PersonalCounts = BTreeMap<Personal, u64>;
