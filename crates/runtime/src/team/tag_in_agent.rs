//! `tag_in_agent`: hands the conversation to a colleague, or only consults one.

use ostler_domain::team::handoff::{HandoffFacts, HandoffRequest, may_consult, validate};
use ostler_domain::tool::Risk;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{SubagentTask, ToolReply};
use schemars::JsonSchema;
use serde::Deserialize;

use super::effect::TeamEffect;
use crate::assembly::{AgentBriefing, SessionFacts, build_prompt, resolve_scope};
use crate::org_view::AgentView;
use crate::running_turns::RunningTurn;
use crate::turn_tool::{TurnCall, TurnTool};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
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

pub(super) struct TagInAgent;

impl TurnTool for TagInAgent {
    const DESCRIPTION: &'static str = "Hand this conversation to a colleague who can help better. \
        They answer the customer's last message at once. What you write beside the call reaches \
        the customer first.";
    /// Several colleagues are consulted at the same time.
    const SEQUENTIAL: bool = false;
    type Arguments = Arguments;

    async fn run(
        &self,
        arguments: Arguments,
        call: &TurnCall<'_>,
    ) -> Result<ToolReply, ToolOutcome> {
        let TurnCall { context, turn, .. } = call;
        let not_here = || ToolOutcome::failed("There is no conversation to hand over here.");
        let config = turn.view.settings.team.clone().unwrap_or_default();
        let target = turn.view.find_agent(&arguments.target_agent_id);
        let request = HandoffRequest {
            reason: arguments.reason.clone(),
            context_summary: arguments.context_summary.clone(),
            suggested_approach: arguments.suggested_approach.clone(),
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
        if arguments.consult {
            may_consult(&facts).map_err(|why| ToolOutcome::failed(why.to_string()))?;
            return target
                .map(|one| ToolReply::Delegate(consult(turn, one, &request)))
                .ok_or_else(not_here);
        }
        validate(&request, &facts, context.now)
            .map_err(|why| ToolOutcome::failed(why.to_string()))?;
        if !TeamEffect::select(&context.pending).is_empty() {
            return Err(ToolOutcome::failed("You have given this conversation away already."));
        }
        let to = target.map(|one| (one.agent.id, one.agent.display_name.clone()));
        let (to, name) = to.ok_or_else(not_here)?;
        let effect = TeamEffect::TagIn {
            to,
            reason: arguments.reason,
            context_summary: arguments.context_summary,
            suggested_approach: arguments.suggested_approach,
            note: arguments.note,
            goal: arguments.conversation_goal,
        };
        let outcome = ToolOutcome::ok(format!("{name} answers from now on."));
        Ok(ToolReply::Done(outcome.with_effect(effect.into()).ending_turn()))
    }
}

/// Returns the task of a colleague who is consulted inside the turn, with the colleague's
/// own prompt and model, and only with tools that read.
fn consult(turn: &RunningTurn, colleague: &AgentView, request: &HandoffRequest) -> SubagentTask {
    let RunningTurn { session, view, tools, .. } = turn;
    let facts = SessionFacts::from(&**session);
    let scope = resolve_scope(view, colleague, &facts, tools);
    let system = build_prompt(view, colleague, &facts, &scope, &[], &AgentBriefing::default());
    let reads = scope.active().filter(|spec| spec.risk == Risk::Read);
    let HandoffRequest { reason, context_summary, suggested_approach } = request;
    let mut task = format!("A colleague who talks to the customer asks you: {reason}");
    for known in [Some(context_summary), suggested_approach.as_ref()].into_iter().flatten() {
        if !known.trim().is_empty() {
            task.push_str(&format!("\n{}", known.trim()));
        }
    }
    task.push_str("\nAnswer your colleague; you do not have the conversation.");
    SubagentTask {
        agent_type: colleague.agent.slug.clone(),
        model: view.settings.models_of(&colleague.agent).first().cloned(),
        system: system.into(),
        task,
        forked: false,
        tools: reads.map(|spec| spec.name.clone()).collect(),
        own_tools: Vec::new(),
        max_steps: None,
        max_credits: None,
    }
}
