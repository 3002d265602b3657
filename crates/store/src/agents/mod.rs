//! Agents: configuration and its versions, souls, soul proposals and daily usage.
//!
//! | file | holds |
//! |---|---|
//! | `agent`       | the current configuration of an agent, and its soul versions |
//! | `daily_usage` | today's counters and the unread notices of an agent |
//! | `proposals`   | soul proposals, their decisions and their application |
//! | `versions`    | immutable versions of an agent's configuration |

pub(crate) mod agent;
pub(crate) mod daily_usage;
pub(crate) mod proposals;
pub(crate) mod versions;
