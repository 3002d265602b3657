//! `escalate_to_human`: a person answers from now on.

use futures_util::future::{BoxFuture, FutureExt};
use ostler_domain::human::escalation::{EscalationRequest, Urgency};
use ostler_domain::tool::ToolSpec;
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::Outcome;
use ostler_engine::tool::{Definition, Reply, Tool, ToolContext};
use schemars::JsonSchema;
use serde::Deserialize;

use super::effect::TeamEffect;
use crate::inbound::live::Live;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    /// Why a person is needed.
    reason: String,
    /// How pressing it is.
    #[serde(default)]
    urgency: Pressing,
    /// What the person should know.
    #[serde(default)]
    context_summary: String,
}

/// How pressing it is.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Pressing {
    High,
    #[default]
    Normal,
    Low,
}

const DESCRIPTION: &str = "Ask a person of the team to take this conversation over. The customer is \
    told that somebody is coming, and you fall silent until the person hands back.";

/// The tool.
pub(super) struct EscalateToHuman {
    definition: Definition,
    live: Live,
}

impl EscalateToHuman {
    pub(super) fn new(spec: ToolSpec, live: Live) -> Self {
        let schema = schemars::schema_for!(Arguments).to_value();
        Self { definition: Definition::new(spec, DESCRIPTION, schema), live }
    }

    fn escalate(&self, call: &Authorized, context: &ToolContext) -> Result<Outcome, Outcome> {
        let Arguments { reason, urgency, context_summary } = call.arguments()?;
        let not_here = || Outcome::failed("There is no conversation to hand over here.");
        let turn =
            context.session.and_then(|session| self.live.get(session)).ok_or_else(not_here)?;
        if reason.trim().is_empty() {
            return Err(Outcome::failed("Say why a person is needed: `reason` must not be empty."));
        }
        if turn.session.open_escalation().is_some() {
            return Err(Outcome::failed("A person has been asked for already."));
        }
        let urgency = match urgency {
            Pressing::High => Urgency::High,
            Pressing::Normal => Urgency::Normal,
            Pressing::Low => Urgency::Low,
        };
        let request = EscalationRequest { reason, urgency, context_summary };
        let effect = TeamEffect::Escalate(request);
        Ok(Outcome::ok("A person has been asked for.").with(effect.into()).last())
    }
}

impl Tool for EscalateToHuman {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, context: &'a ToolContext) -> BoxFuture<'a, Reply> {
        let outcome = self.escalate(call, context).unwrap_or_else(|refused| refused);
        std::future::ready(Reply::Done(outcome)).boxed()
    }
}
