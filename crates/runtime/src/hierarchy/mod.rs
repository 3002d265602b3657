//! Exchange between business layers: issues and insights go up, delegations and instructions go
//! down, and the PM of the receiving org decides.
//!
//! The rules are in [`ostler_domain::hierarchy`]. The tools here change nothing themselves: what
//! they want is an effect of the turn, which [`plan`] turns into changes for its commit. People
//! decide through the operations, which use the same plan.

mod acknowledge_insight;
mod answer_delegation;
mod call;
mod decide_issue;
mod delegate_to_child;
mod effect;
mod escalate_to_parent;
mod instruct_agent;
pub mod plan;
mod receivers;
mod share_insight_upward;
mod waiting;

use std::sync::Arc;

use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::tool::Tool;

use crate::running_turns::RunningTurns;

pub(crate) use effect::ExchangeEffect;
pub(crate) use plan::{ExchangePlan, Planner};
pub(crate) use waiting::waiting_for;

/// Returns the tools with which agents reach other business layers.
pub fn tools(running_turns: &RunningTurns) -> Vec<Arc<dyn Tool>> {
    let make = |spec: ToolSpec| -> Option<Arc<dyn Tool>> {
        Some(match spec.name.as_str() {
            "escalate_to_parent" => {
                call::build::<escalate_to_parent::EscalateToParent>(spec, running_turns)
            }
            "delegate_to_child" => {
                call::build::<delegate_to_child::DelegateToChild>(spec, running_turns)
            }
            "share_insight_upward" => {
                call::build::<share_insight_upward::ShareInsightUpward>(spec, running_turns)
            }
            "instruct_agent" => call::build::<instruct_agent::InstructAgent>(spec, running_turns),
            "decide_issue" => call::build::<decide_issue::DecideIssue>(spec, running_turns),
            "answer_delegation" => {
                call::build::<answer_delegation::AnswerDelegation>(spec, running_turns)
            }
            "acknowledge_insight" => {
                call::build::<acknowledge_insight::AcknowledgeInsight>(spec, running_turns)
            }
            _ => return None,
        })
    };
    built_in().into_iter().filter_map(make).collect()
}
