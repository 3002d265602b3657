//! Agents on queues: who they are, what they are given, and what becomes of it.

mod codes;
mod delegations;
mod error;
mod page;
mod plans;
mod registry;
mod teams;
mod worklist;

pub use codes::{CodeSource, MemoryCodes};
pub use delegations::{Delegations, MemoryDelegations, SlaDue, Work};
pub use error::{QueueError, Result};
pub use page::{LONGEST_PAGE, Page};
pub use plans::{Answered, MemoryPlans, PlanKey, Plans};
pub use registry::{AgentRecord, Coverage, MemoryRegistry, Placement, Presence, Registry};
pub use teams::{MemoryTeams, TeamChange, Teams};
pub use worklist::{MemoryWorkList, WorkList};
