//! Patterns of cooperation, as methods of the runtime.
//!
//! | pattern | call |
//! |---|---|
//! | direct | [`send`](super::AgentRuntime::send), [`ask`](super::AgentRuntime::ask) |
//! | broadcast | [`broadcast`](super::AgentRuntime::broadcast) |
//! | swarm | [`send_to_team`](super::AgentRuntime::send_to_team), [`ask_team`](super::AgentRuntime::ask_team) |
//! | pipeline | [`pipeline`](super::AgentRuntime::pipeline) |
//! | council | [`council`](super::AgentRuntime::council) |
//! | plan approval | [`ask_with_approval`](super::AgentRuntime::ask_with_approval) |

mod approval;
mod council;
mod pipeline;
mod swarm;

pub use approval::require_approval;
pub use council::{CouncilAnswers, CouncilOptions};
