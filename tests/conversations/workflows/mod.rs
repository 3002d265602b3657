//! Workflows: graphs of steps that survive whoever runs them.

mod support;
mod crash;
mod events;
mod steps;
mod people;
mod saga;

pub(crate) use support::task;
