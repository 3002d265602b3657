//! Conversations as people read them, for a route and for commands that show what they did.

mod changes;
mod lines;
pub(crate) mod timeline;

use ostler_api::transcript::{
    CallLine, DecisionRule, RuleSetting, Transcript, TranscriptLine, TranscriptTeam,
};
use ostler_domain::agent::Agent;
use ostler_domain::gate::GateDecision;
use ostler_domain::id::{AgentId, SessionId, UserId};
use ostler_domain::time::Timestamp;
use ostler_runtime::operations::{
    ActorNames, DecidedCall, OrgOperations, Result, RuleSource, RuleSources, SessionDetail,
};
use serde_json::Value;

use crate::wire;

/// The names of those who act in an org.
struct Names(ActorNames);

impl Names {
    /// Returns the name of an agent, or its short id if it is unknown.
    fn get(&self, id: AgentId) -> String {
        self.0.agents.get(&id).cloned().unwrap_or_else(|| id.short())
    }

    /// Returns the name of a person, or the short id if it is unknown.
    fn person(&self, id: UserId) -> String {
        self.0.people.get(&id).cloned().unwrap_or_else(|| id.short())
    }
}

/// A line, and for a call what its rule is found by.
struct BuiltLine {
    line: TranscriptLine,
    decided: Option<Decided>,
}

/// A decision of the gate.
struct Decided {
    agent: AgentId,
    verdict: GateDecision,
    /// When the run began.
    at: Timestamp,
}

/// Returns a session with its messages, calls and changes, without the rules of decisions.
pub async fn load(operations: &OrgOperations<'_>, id: SessionId) -> Result<Transcript> {
    let (transcript, _) = build(operations, id).await?;
    Ok(transcript)
}

/// Returns a session with its messages, calls and changes, and the setting behind each call
/// that waited or was refused.
pub async fn load_with_rules(operations: &OrgOperations<'_>, id: SessionId) -> Result<Transcript> {
    let (mut transcript, decided) = build(operations, id).await?;
    let stopped = |line: &TranscriptLine| match line {
        TranscriptLine::Call(call) => call.decision != "allow",
        _ => false,
    };
    if !transcript.lines.iter().any(stopped) {
        return Ok(transcript);
    }
    let (agents, mut sources) = (operations.agents().await?, operations.rule_sources().await?);
    for (line, decided) in transcript.lines.iter_mut().zip(&decided) {
        if !stopped(line) {
            continue;
        }
        let (TranscriptLine::Call(call), Some(decided)) = (line, decided) else { continue };
        let Some(agent) = agents.iter().find(|agent| agent.id == decided.agent) else { continue };
        call.rule = Some(rule_of(&mut sources, agent, call, decided).await?);
    }
    Ok(transcript)
}

async fn rule_of(
    sources: &mut RuleSources<'_>,
    agent: &Agent,
    call: &CallLine,
    decided: &Decided,
) -> Result<DecisionRule> {
    let found = sources
        .find(&DecidedCall {
            agent,
            tool: &call.tool,
            decision: &decided.verdict,
            arguments: call.arguments.as_ref().unwrap_or(&Value::Null),
            approval: call.approval,
            at: Some(decided.at),
        })
        .await?;
    Ok(decision_rule(found))
}

/// Returns a rule as a wire type.
pub fn decision_rule(found: Option<RuleSource>) -> DecisionRule {
    let setting = found.map(|rule| RuleSetting {
        resource: rule.resource,
        field: rule.field.to_owned(),
        set_by: rule.set_by,
        set_at: rule.set_at,
        place: rule.place,
        allow_with: rule.allow_with,
        past_calls: rule.past_calls,
    });
    DecisionRule { setting }
}

async fn build(
    operations: &OrgOperations<'_>,
    id: SessionId,
) -> Result<(Transcript, Vec<Option<Decided>>)> {
    // The runs first, so that what people did about them is there when that is read.
    let detail: SessionDetail = operations.session(id).await?;
    let changes = changes::of_session(operations, id, &detail.runs).await?;
    let names = Names(operations.actor_names().await?);
    let built = lines::build(&detail, &changes, &names);
    let team = detail.session.team.as_ref().map(|team| TranscriptTeam {
        members: team.participants().iter().map(|id| names.get(*id)).collect(),
        handoffs: team.history().len(),
        goal: team.shared.conversation_goal.clone(),
    });
    let last_run = detail.runs.iter().rfind(|run| !run.turns.is_empty()).map(|run| run.id);
    let (lines, decided) = built.into_iter().map(|built| (built.line, built.decided)).unzip();
    let session = wire::session(&detail.session);
    Ok((Transcript { session, team, lines, last_run }, decided))
}
