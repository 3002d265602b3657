//! The team harness: agents that hand a conversation to each other, and to
//! people, and back.
//!
//! The rules are `domain`'s ([`ostler_domain::team`], [`ostler_domain::human`]).
//! An agent's tools here change nothing by themselves: what they want is an
//! effect of the turn, and is carried out when the turn is over.

mod effect;
mod escalate;
mod escalate_to_human;
mod hand_over;
mod settle;
mod tag_in_agent;

use std::sync::Arc;

use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::tool::Tool;

use crate::inbound::live::Live;

pub(crate) use effect::TeamEffect;
pub(crate) use escalate::{begin, notify_people};
pub(crate) use hand_over::{hand_over, to_specialist};
pub(crate) use settle::{go_on, settle};

/// The tools that agents work together with.
pub fn tools(live: &Live) -> Vec<Arc<dyn Tool>> {
    let make = |spec: ToolSpec| -> Option<Arc<dyn Tool>> {
        match spec.name.as_str() {
            "tag_in_agent" => Some(Arc::new(tag_in_agent::TagInAgent::new(spec, live.clone()))),
            "escalate_to_human" => {
                Some(Arc::new(escalate_to_human::EscalateToHuman::new(spec, live.clone())))
            }
            _ => None,
        }
    };
    built_in().into_iter().filter_map(make).collect()
}
