//! What agents change about agents: proposals to change a soul, and direct changes of an
//! agent's settings where the business layer allows them.
//!
//! The rules are in [`ostler_domain::soul::proposal`] and
//! [`ostler_domain::agent::protection`]. Changes in the agent's own org are effects of the
//! turn and are stored by its commit. Only the platform's own agents change another org, and
//! do so at once, because a commit belongs to one org.

mod effect;
pub(crate) mod proposal;
mod propose_soul_update;

use std::sync::Arc;

use ostler_domain::tool::catalogue::{PROPOSE_SOUL_UPDATE, built_in};
use ostler_engine::tool::Tool;

use crate::running_turns::RunningTurns;
use crate::turn_tool;

pub(crate) use effect::store_effects;

/// Returns the tools that change agents by a proposal.
pub fn tools(running_turns: &RunningTurns) -> Vec<Arc<dyn Tool>> {
    let specs = built_in().into_iter().filter(|spec| spec.name == PROPOSE_SOUL_UPDATE);
    let tool = propose_soul_update::ProposeSoulUpdate;
    specs.map(|spec| turn_tool::build(tool, spec, running_turns)).collect()
}
