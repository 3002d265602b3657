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
use ostler_domain::tool::{ToolName, ToolSpec};
use ostler_engine::tool::Tool;
use ostler_store::Store;

use crate::running_turns::RunningTurns;

pub(crate) use effect::store_effects;

/// The names of the tools that change agents.
pub const TOOL_NAMES: [ToolName; 1] = [PROPOSE_SOUL_UPDATE];

/// Returns the tools that change agents.
pub fn tools(store: &Store, running_turns: &RunningTurns) -> Vec<Arc<dyn Tool>> {
    let make = |spec: ToolSpec| -> Option<Arc<dyn Tool>> {
        if spec.name == PROPOSE_SOUL_UPDATE {
            let tool = propose_soul_update::ProposeSoulUpdate::new(
                spec,
                store.clone(),
                running_turns.clone(),
            );
            return Some(Arc::new(tool));
        }
        None
    };
    built_in().into_iter().filter_map(make).collect()
}
