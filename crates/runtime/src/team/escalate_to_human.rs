//! `escalate_to_human`: hands the conversation to a person.

use futures_util::future::{BoxFuture, FutureExt};
use ostler_domain::human::escalation::{EscalationRequest, Urgency};
use ostler_domain::tool::ToolSpec;
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use schemars::JsonSchema;
use serde::Deserialize;

use super::effect::TeamEffect;
use crate::running_turns::RunningTurns;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    /// Why a person is needed.
    reason: String,
    /// How pressing it is.
    #[serde(default)]
    urgency: RequestedUrgency,
    /// What the person should know.
    #[serde(default)]
    context_summary: String,
}

/// How pressing it is.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RequestedUrgency {
    High,
    #[default]
    Normal,
    Low,
}

const DESCRIPTION: &str = "Ask a person of the team to take this conversation over. The customer is \
    told that somebody is coming, and you fall silent until the person hands back.";

pub(super) struct EscalateToHuman {
    definition: ToolDefinition,
    running_turns: RunningTurns,
}

impl EscalateToHuman {
    pub(super) fn new(spec: ToolSpec, running_turns: RunningTurns) -> Self {
        let schema = schemars::schema_for!(Arguments).to_value();
        Self { definition: ToolDefinition::new(spec, DESCRIPTION, schema), running_turns }
    }

    fn escalate(
        &self,
        call: &Authorized,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolOutcome> {
        let Arguments { reason, urgency, context_summary } = call.arguments()?;
        let not_here = || ToolOutcome::failed("There is no conversation to hand over here.");
        let turn = context
            .session
            .and_then(|session| self.running_turns.get(session))
            .ok_or_else(not_here)?;
        if reason.trim().is_empty() {
            return Err(ToolOutcome::failed(
                "Say why a person is needed: `reason` must not be empty.",
            ));
        }
        if turn.session.open_escalation().is_some() {
            return Err(ToolOutcome::failed("A person has been asked for already."));
        }
        let urgency = match urgency {
            RequestedUrgency::High => Urgency::High,
            RequestedUrgency::Normal => Urgency::Normal,
            RequestedUrgency::Low => Urgency::Low,
        };
        let request = EscalationRequest { reason, urgency, context_summary };
        let effect = TeamEffect::Escalate(request);
        Ok(ToolOutcome::ok("A person has been asked for.").with_effect(effect.into()).ending_turn())
    }
}

impl Tool for EscalateToHuman {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        let outcome = self.escalate(call, context).unwrap_or_else(|refused| refused);
        std::future::ready(ToolReply::Done(outcome)).boxed()
    }
}
