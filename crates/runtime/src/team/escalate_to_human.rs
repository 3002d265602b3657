//! `escalate_to_human`: hands the conversation to a person.

use ostler_domain::human::escalation::{EscalationRequest, Urgency};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::ToolReply;
use schemars::JsonSchema;
use serde::Deserialize;

use super::effect::TeamEffect;
use crate::turn_tool::{TurnCall, TurnTool};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
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

pub(super) struct EscalateToHuman;

impl TurnTool for EscalateToHuman {
    const DESCRIPTION: &'static str = "Ask a person of the team to take this conversation over. \
        The customer is told that somebody is coming, and you fall silent until the person \
        hands back.";
    type Arguments = Arguments;

    async fn run(
        &self,
        Arguments { reason, urgency, context_summary }: Arguments,
        call: &TurnCall<'_>,
    ) -> Result<ToolReply, ToolOutcome> {
        if reason.trim().is_empty() {
            return Err(ToolOutcome::failed(
                "Say why a person is needed: `reason` must not be empty.",
            ));
        }
        if call.turn.session.open_escalation().is_some() {
            return Err(ToolOutcome::failed("A person has been asked for already."));
        }
        let urgency = match urgency {
            RequestedUrgency::High => Urgency::High,
            RequestedUrgency::Normal => Urgency::Normal,
            RequestedUrgency::Low => Urgency::Low,
        };
        let effect = TeamEffect::Escalate(EscalationRequest { reason, urgency, context_summary });
        let outcome = ToolOutcome::ok("A person has been asked for.").with_effect(effect.into());
        Ok(ToolReply::Done(outcome.ending_turn()))
    }
}
