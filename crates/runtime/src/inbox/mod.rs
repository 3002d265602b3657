//! The inbox of conversations: accepting an entry once, and waking the workers
//! that answer it.
//!
//! Owns [`Intake`], which stores an entry, and [`Doorbell`], which wakes workers in
//! this process and, over a bus, in others. It never reads what an entry says.

mod doorbell;
mod intake;
mod waking;

pub use doorbell::Doorbell;
pub use intake::Intake;
pub(crate) use intake::new_inbox_entry;
pub(crate) use waking::{wake_conversation, wake_informed};
