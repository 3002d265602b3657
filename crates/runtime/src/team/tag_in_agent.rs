//! `tag_in_agent`: a colleague answers from now on.

use futures_util::future::{BoxFuture, FutureExt};
use ostler_domain::team::handoff::{HandoffFacts, HandoffRequest, validate};
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
    /// The colleague: an id, a short name or a role, such as `billing`.
    target_agent_id: String,
    /// Why you hand over.
    #[serde(default)]
    reason: String,
    /// What your colleague should know, so that the customer repeats nothing.
    #[serde(default)]
    context_summary: String,
    /// What your colleague might do.
    #[serde(default)]
    suggested_approach: Option<String>,
    /// A note that only this colleague sees.
    #[serde(default)]
    note: Option<String>,
    /// What the customer wants to achieve.
    #[serde(default)]
    conversation_goal: Option<String>,
}

const DESCRIPTION: &str = "Hand this conversation to a colleague who can help better. They answer \
    the customer's last message at once. What you write beside the call reaches the customer first.";

/// The tool.
pub(super) struct TagInAgent {
    definition: Definition,
    live: Live,
}

impl TagInAgent {
    pub(super) fn new(spec: ToolSpec, live: Live) -> Self {
        let schema = schemars::schema_for!(Arguments).to_value();
        Self { definition: Definition::new(spec, DESCRIPTION, schema), live }
    }

    fn tag_in(&self, call: &Authorized, context: &ToolContext) -> Result<Outcome, Outcome> {
        let wanted: Arguments = call.arguments()?;
        let not_here = || Outcome::failed("There is no conversation to hand over here.");
        let turn =
            context.session.and_then(|session| self.live.get(session)).ok_or_else(not_here)?;
        let config = turn.view.settings.team.clone().unwrap_or_default();
        let target = turn.view.find_agent(&wanted.target_agent_id);
        let request = HandoffRequest {
            reason: wanted.reason.clone(),
            context_summary: wanted.context_summary.clone(),
            suggested_approach: wanted.suggested_approach.clone(),
        };
        let facts = HandoffFacts {
            session: turn.session.id,
            org: context.org,
            from: context.agent,
            target: target.map(|one| &one.agent),
            team: turn.session.team.as_ref(),
            status: turn.session.status,
            available: turn.available,
            config: &config,
        };
        validate(&request, &facts, context.now).map_err(|why| Outcome::failed(why.to_string()))?;
        if !TeamEffect::among(&context.pending).is_empty() {
            return Err(Outcome::failed("You have given this conversation away already."));
        }
        let to = target.map(|one| (one.agent.id, one.agent.display_name.clone()));
        let (to, name) = to.ok_or_else(not_here)?;
        let effect = TeamEffect::TagIn {
            to,
            reason: wanted.reason,
            context_summary: wanted.context_summary,
            suggested_approach: wanted.suggested_approach,
            note: wanted.note,
            goal: wanted.conversation_goal,
        };
        Ok(Outcome::ok(format!("{name} answers from now on.")).with(effect.into()).last())
    }
}

impl Tool for TagInAgent {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, context: &'a ToolContext) -> BoxFuture<'a, Reply> {
        let outcome = self.tag_in(call, context).unwrap_or_else(|refused| refused);
        std::future::ready(Reply::Done(outcome)).boxed()
    }
}
