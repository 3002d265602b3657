//! Workflows: graphs of steps that survive whoever runs them.

mod bench;
mod crash;
mod events;
mod order;
mod people;
mod saga;

pub(crate) use bench::task;
