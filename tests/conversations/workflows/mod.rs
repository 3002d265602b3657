//! Workflows: graphs of steps that survive their process.

mod control;
mod crash;
mod events;
mod people;
mod saga;
mod steps;
mod support;

pub(crate) use support::{WorkflowScenario, task};
