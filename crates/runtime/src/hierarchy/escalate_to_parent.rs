//! `escalate_to_parent`: sends an issue one business layer up.

use ostler_domain::hierarchy::Importance;
use ostler_domain::hierarchy::issue::Issue;
use ostler_domain::hierarchy::route::{Party, escalation_target};
use ostler_domain::id::RecordId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{CallError, ExchangeCall, ExchangeTool};
use super::effect::ExchangeEffect;
use super::receivers::{coordinator, escalation_targets};
use crate::ids::fresh;

pub(super) struct EscalateToParent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A short summary of the issue.
    summary: String,
    severity: Severity,
    /// What the PM should know. The last messages are added by themselves.
    #[serde(default)]
    context: String,
}

/// How serious it is.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    Low,
    Medium,
    High,
}

impl From<Severity> for Importance {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Low => Self::Low,
            Severity::Medium => Self::Medium,
            Severity::High => Self::High,
        }
    }
}

impl ExchangeTool for EscalateToParent {
    const DESCRIPTION: &'static str = "Send an issue that you cannot settle yourself to the PM \
        above you. You keep the conversation, and you are told when the issue is settled.";
    type Arguments = Arguments;

    async fn run(
        Arguments { summary, severity, context }: Arguments,
        call: &ExchangeCall<'_>,
    ) -> Result<(ExchangeEffect, String), CallError> {
        let targets = escalation_targets(call).await?;
        let place = call.turn.view.org.place;
        let target = escalation_target(&call.agent.position, place, &targets)?;
        let issue = Issue::new(call.party(), target, &summary, severity.into(), &context)?;
        let issue = Issue {
            sender: call.sender(),
            routed_by: routed_by(call, target).await?,
            session: Some(call.turn.session.id),
            conversation: Some(call.turn.session.conversation),
            ..issue
        };
        let id = fresh(RecordId::from_u128);
        let text = format!("The issue {id} is with the PM. You are told when it is settled.");
        Ok((ExchangeEffect::RaiseIssue { id, issue: Box::new(issue) }, text))
    }
}

/// Returns the coordinator that routes an issue: the sender's, or else the receiver's.
async fn routed_by(call: &ExchangeCall<'_>, target: Party) -> Result<Option<Party>, CallError> {
    if let Some(own) = coordinator(&call.turn.view) {
        return Ok(Some(own));
    }
    if target.org == call.context.org {
        return Ok(None);
    }
    Ok(coordinator(&*call.org_views().current(target.org).await?))
}
