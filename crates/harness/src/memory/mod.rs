//! Observational memory: a long thread stays within a bounded prompt.
//!
//! [`ThreadMemory`] is the memory of one thread. The harness tells it of every stored
//! message ([`ThreadMemory::on_message`]) and asks it what the prompt of a turn consists of
//! ([`ThreadMemory::prompt`]). Both are synchronous, take no notice of the length of the
//! thread and never call a model.
//!
//! An observer and a reflector work in the background. What they do is decided by
//! [`ostler_domain::memory`]; this module runs their models, stores the results and
//! publishes [`MemoryEvent`]s. A failure is an event and is retried later: it never harms
//! or delays a turn. The use of models is returned to be charged
//! ([`ThreadMemory::take_calls`]).
//!
//! Messages that have left the prompt are found by the [`recall`](ThreadMemory::recall_tool)
//! tool.

mod ask;
mod event;
mod message;
mod observe;
mod prompt;
mod recall;
mod reflect;
mod state;
mod thread;
mod worker;

pub use event::{
    MemoryEvent, MemoryPart, OmActivation, OmActiveWindows, OmBufferedObservations,
    OmBufferedReflection, OmBufferedWindows, OmOperation, OmStatus, OmTask, OmWindow, OmWindows,
};
pub use message::memory_message;
pub use prompt::MemoryPrompt;
pub use recall::RECALL;
pub use thread::{MemoryEventSink, MemoryOptions, ThreadMemory, load_om_progress};
