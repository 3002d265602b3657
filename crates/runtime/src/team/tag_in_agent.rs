//! `tag_in_agent`: a colleague answers from now on, or is only asked.

use futures_util::future::{BoxFuture, FutureExt};
use ostler_domain::team::handoff::{HandoffFacts, HandoffRequest, may_consult, validate};
use ostler_domain::tool::{Risk, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::Outcome;
use ostler_engine::tool::{Definition, Reply, SubTurn, Tool, ToolContext};
use schemars::JsonSchema;
use serde::Deserialize;

use super::effect::TeamEffect;
use crate::inbound::live::{Live, LiveTurn};
use crate::inbound::{step_05_prompt, step_07_tools};
use crate::org_view::AgentView;

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
    /// Only ask your colleague, who answers you and not the customer; you keep the
    /// conversation. You may ask several at once.
    #[serde(default)]
    consult: bool,
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

    fn tag_in(&self, call: &Authorized, context: &ToolContext) -> Result<Reply, Outcome> {
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
        if wanted.consult {
            may_consult(&facts).map_err(|why| Outcome::failed(why.to_string()))?;
            return target
                .map(|one| Reply::Delegate(consult(&turn, one, &request)))
                .ok_or_else(not_here);
        }
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
        let outcome = Outcome::ok(format!("{name} answers from now on."));
        Ok(Reply::Done(outcome.with(effect.into()).last()))
    }
}

/// Work for a colleague beside the agent that has the conversation: with its own
/// prompt and model, and to look things up, since nobody has given it more.
fn consult(turn: &LiveTurn, colleague: &AgentView, request: &HandoffRequest) -> SubTurn {
    let LiveTurn { session, view, tools, .. } = turn;
    let scope = step_07_tools::scope(view, colleague, session, tools);
    let system = step_05_prompt::build(view, colleague, session, &scope, &[], &[]);
    let reads = scope.active().filter(|spec| spec.risk == Risk::Read);
    let HandoffRequest { reason, context_summary, suggested_approach } = request;
    let mut task = format!("A colleague who talks to the customer asks you: {reason}");
    for known in [Some(context_summary), suggested_approach.as_ref()].into_iter().flatten() {
        if !known.trim().is_empty() {
            task.push_str(&format!("\n{}", known.trim()));
        }
    }
    task.push_str("\nAnswer your colleague; you do not have the conversation.");
    SubTurn {
        agent_type: colleague.agent.slug.clone(),
        model: colleague.agent.models.first().cloned(),
        system: system.into(),
        task,
        forked: false,
        tools: reads.map(|spec| spec.name.clone()).collect(),
    }
}

impl Tool for TagInAgent {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, context: &'a ToolContext) -> BoxFuture<'a, Reply> {
        let reply = self.tag_in(call, context).unwrap_or_else(Reply::Done);
        std::future::ready(reply).boxed()
    }
}
