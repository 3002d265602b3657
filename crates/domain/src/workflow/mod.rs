//! Workflows: durable graphs of steps.
//!
//! A [`Definition`] says which steps there are, what each waits for and what it
//! does; it is checked when it is read. A [`Progress`] says where each of them
//! stands, and is the only place that decides what begins next, when the whole
//! is over and what is undone in which order. Results are not in it: whoever
//! runs the steps keeps them, and shows them as [`Values`].

pub mod definition;
mod form;
pub mod progress;
mod task;
pub mod template;

pub use crate::dispatch::name::{EventName, StepName};
pub use definition::{Argument, BadDefinition, Condition, Definition, Step, Work};
pub use progress::{Came, Part, Progress, Standing, Status};
pub use task::{NotATask, Task};
pub use template::{Reference, Template, Values};

#[cfg(test)]
mod tests;
