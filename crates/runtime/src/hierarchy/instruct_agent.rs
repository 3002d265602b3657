//! `instruct_agent`: a PM gives another agent of its org an instruction.

use ostler_domain::hierarchy::MissingField;
use ostler_domain::hierarchy::route::{NoRoute, check_instruction};
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{CallError, ExchangeCall, ExchangeTool};
use super::effect::ExchangeEffect;

pub(super) struct InstructAgent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The agent: an id, a short name or a role, such as `customer_service`.
    agent: String,
    /// What the agent should do from now on.
    instruction: String,
}

impl ExchangeTool for InstructAgent {
    const DESCRIPTION: &'static str = "Give another agent of your organization an instruction. \
        It reads the instruction in every conversation until a person acknowledges it.";
    type Arguments = Arguments;

    async fn run(
        Arguments { agent, instruction }: Arguments,
        call: &ExchangeCall<'_>,
    ) -> Result<(ExchangeEffect, String), CallError> {
        let to = call.turn.view.find_agent(&agent).ok_or(NoRoute::CannotInstruct)?;
        check_instruction(&call.agent.agent, &to.agent)?;
        let instruction = instruction.trim().to_owned();
        if instruction.is_empty() {
            return Err(MissingField("instruction").into());
        }
        let text = format!("{} reads it from now on.", to.agent.display_name);
        let (to, from) = (to.agent.id, call.context.agent);
        Ok((ExchangeEffect::Instruct { to, from, instruction }, text))
    }
}
