//! Personal data: everything an org stores about one contact, for export and
//! erasure.
//!
//! A conversation belongs to the contact that is recognized by its key; group
//! conversations belong to no single contact and are left out. After an erasure only
//! the org's bookkeeping remains: ledger lines, and audit entries without details.

mod erase;
mod export;
pub(crate) mod find;
mod markers;
mod records;
mod shared;
mod sweep;
mod tables;
mod workflows;

use std::collections::BTreeMap;

use serde::Serialize;

pub use export::{ContactExport, ExportedItem};
pub(crate) use find::record_conversation_peer;

/// A kind of data stored about a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonalDataKind {
    /// The contact with its identifiers.
    Contact,
    Conversation,
    /// An inbox row.
    Inbound,
    /// An outbox row.
    Outbound,
    /// The checkpoint of an unfinished turn.
    Checkpoint,
    /// A call of an external tool.
    Call,
    Session,
    Message,
    /// A note of a person about a session.
    Note,
    Run,
    Approval,
    Event,
    /// A notice about any of the others.
    Notice,
    /// A blob that messages refer to.
    File,
    /// An order, a booking or the answers to a form.
    Record,
    /// A workflow that names the contact.
    Workflow,
}

/// The number of items of each kind.
pub type PersonalDataCounts = BTreeMap<PersonalDataKind, u64>;
