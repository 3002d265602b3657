//! Messages of agents to contacts who are not in the conversation: e-mail and text messages.
//!
//! The tools change nothing themselves: what they want is an effect of the turn, which puts the
//! messages into the outbox with the turn's commit. Only contacts of the org are written to.

mod effect;
mod recipients;
mod send_bulk_email;
mod send_email;
mod send_sms;

use std::sync::Arc;

use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::tool::Tool;

use crate::running_turns::RunningTurns;
use crate::turn_tool;

pub(crate) use effect::store_effects;

/// Returns the tools with which agents write to contacts.
pub fn tools(running_turns: &RunningTurns) -> Vec<Arc<dyn Tool>> {
    let make = |spec: ToolSpec| -> Option<Arc<dyn Tool>> {
        Some(match spec.name.as_str() {
            "send_email" => turn_tool::build(send_email::SendEmail, spec, running_turns),
            "send_sms" => turn_tool::build(send_sms::SendSms, spec, running_turns),
            "send_bulk_email" => {
                turn_tool::build(send_bulk_email::SendBulkEmail, spec, running_turns)
            }
            _ => return None,
        })
    };
    built_in().into_iter().filter_map(make).collect()
}
