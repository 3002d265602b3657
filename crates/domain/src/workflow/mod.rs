//! Workflows: durable graphs of steps.
//!
//! A [`WorkflowDefinition`] lists the steps, their order and the work of each; its
//! structure is validated when it is parsed. A [`Template`] and a [`Condition`] are texts
//! here: the runtime checks and evaluates them. A [`WorkflowProgress`] holds the status of each step and is
//! the only place that decides which step runs next, when the workflow ends, and in
//! which order steps are undone (compensation). Step results are stored by the caller, who evaluates
//! conditions and lists with them through [`Values`].

mod child_end;
pub mod control;
pub mod definition;
mod error;
pub mod graph;
mod item_runs;
pub mod progress;
pub mod schedule;
pub mod status;
mod syntax;
mod task;
pub mod template;
pub mod work;

pub use crate::queue_agent::name::{EventName, StepName};
pub use child_end::ChildEnd;
pub use control::{ControlRefused, StepControl};
pub use definition::{Step, WorkflowDefinition};
pub use error::{DefinitionError, InputMismatch};
pub use progress::WorkflowProgress;
pub use status::{ItemProgress, ItemStatus, StepOutcome, StepStatus, WorkflowStatus, WorkflowStop};
pub use task::{InvalidTask, Task};
pub use template::{Condition, Template, Values};
pub use work::{Argument, StepWork};

#[cfg(test)]
mod tests;
