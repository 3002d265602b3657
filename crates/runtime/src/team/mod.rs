//! The team harness: agents hand a conversation to each other, to people, and back.
//!
//! The rules are in [`ostler_domain::team`] and [`ostler_domain::human`]. The tools here
//! change nothing themselves: what they want is an effect of the turn, and is carried out
//! when the turn has ended.

mod effect;
mod end_escalation;
mod escalate;
mod escalate_to_human;
mod hand_over;
mod tag_in_agent;

use std::sync::Arc;

use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::tool::Tool;

use crate::running_turns::RunningTurns;
use crate::turn_tool;

pub(crate) use effect::TeamEffect;
pub(crate) use end_escalation::{end_escalation, follow_up_entries};
pub(crate) use escalate::{begin_escalation, notify_people};
pub(crate) use hand_over::{hand_over, hand_over_to_specialist};

/// Returns the tools for handovers and escalations.
pub fn tools(running_turns: &RunningTurns) -> Vec<Arc<dyn Tool>> {
    let make = |spec: ToolSpec| -> Option<Arc<dyn Tool>> {
        Some(match spec.name.as_str() {
            "tag_in_agent" => turn_tool::build(tag_in_agent::TagInAgent, spec, running_turns),
            "escalate_to_human" => {
                turn_tool::build(escalate_to_human::EscalateToHuman, spec, running_turns)
            }
            _ => return None,
        })
    };
    built_in().into_iter().filter_map(make).collect()
}
