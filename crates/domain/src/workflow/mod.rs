//! Workflows: durable graphs of steps.
//!
//! A [`Definition`] says which steps there are, what each waits for and what it
//! does; it is checked when it is read. A [`Progress`] says where each of them
//! stands, and is the only place that decides what begins next, when the whole
//! is over and what is undone in which order. Results are not in it: whoever
//! runs the steps keeps them, and shows them as [`Values`].

mod bad;
pub mod definition;
mod form;
pub mod progress;
pub mod standing;
mod task;
pub mod template;
pub mod work;

pub use crate::dispatch::name::{EventName, StepName};
pub use bad::BadDefinition;
pub use definition::{Definition, Step};
pub use progress::Progress;
pub use standing::{At, Came, Part, Standing, Status, Stop};
pub use task::{NotATask, Task};
pub use template::{Reference, Template, Values};
pub use work::{Argument, Condition, Work};

#[cfg(test)]
mod tests;
