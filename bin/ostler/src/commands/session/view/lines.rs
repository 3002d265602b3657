//! The lines of a conversation: messages, tool calls, escalations and what people did, in
//! the order in which they happened.

use ostler_domain::gate::GateDecision;
use ostler_domain::human::escalation::Urgency;
use ostler_domain::id::{AgentId, ApprovalId, RunId};
use ostler_domain::message::MessagePart;
use ostler_domain::team::TeamSession;
use ostler_domain::time::Timestamp;
use ostler_engine::outcome::OutcomeStatus;
use ostler_runtime::operations::Actor;
use ostler_runtime::records::call::{CallRecord, GateRecord};
use ostler_runtime::records::message::{MessageAuthor, Purpose, ThreadMessage};
use ostler_runtime::records::run::{RunOutcome, RunRecord, TurnRecord};
use ostler_runtime::records::session::Session;
use serde::Serialize;
use serde_json::Value;

use super::{AgentNames, SessionChange, contact_name};

/// A line of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum ViewLine {
    Message {
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        at: Timestamp,
        who: String,
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        handoff: Option<HandoffNote>,
    },
    Call(Box<CallLine>),
    Escalation {
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        reason: String,
        urgency: Option<Urgency>,
    },
    /// What a person did with the session.
    Change(SessionChange),
}

/// The handoff that a message announces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HandoffNote {
    pub(crate) number: usize,
    pub(crate) to: String,
}

/// A tool call with the decision of the gate and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CallLine {
    pub(crate) run: RunId,
    pub(crate) who: String,
    pub(crate) tool: String,
    pub(crate) arguments: Option<Value>,
    /// `allow`, `ask` or `deny`.
    pub(crate) decision: &'static str,
    /// The reason of the decision.
    pub(crate) why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) status: Option<OutcomeStatus>,
    /// What the model was told.
    pub(crate) result: Option<String>,
    /// The setting behind the decision, who set it and when, if it was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<String>,
    #[serde(skip)]
    pub(crate) agent: AgentId,
    #[serde(skip)]
    pub(crate) verdict: GateDecision,
    /// When the run began.
    #[serde(skip)]
    pub(crate) at: Timestamp,
}

impl ViewLine {
    pub(super) const fn run(&self) -> Option<RunId> {
        match self {
            Self::Message { run, .. } | Self::Escalation { run, .. } => *run,
            Self::Call(call) => Some(call.run),
            Self::Change(_) => None,
        }
    }
}

/// Merges messages, calls, escalations and changes.
pub(super) fn build(
    session: &Session,
    messages: &[ThreadMessage],
    runs: &[RunRecord],
    changes: &[SessionChange],
    names: &AgentNames,
) -> Vec<ViewLine> {
    let mut lines = Vec::new();
    let mut handoffs = session.team.iter().flat_map(TeamSession::history).zip(1..);
    let mut changes = changes.iter().peekable();
    let mut told: Vec<(RunId, AgentId)> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        while let Some(change) = changes.next_if(|change| change.at < message.at) {
            lines.push(ViewLine::Change(change.clone()));
        }
        let ends_run = messages.get(number + 1).is_none_or(|next| next.run != message.run);
        let run = runs.iter().find(|run| Some(run.id) == message.run);
        if let (MessageAuthor::Agent { id }, Some(run)) = (&message.author, run)
            && !told.contains(&(run.id, *id))
        {
            lines.extend(calls(run, *id, messages, names));
            told.push((run.id, *id));
        }
        let text = format_message(message);
        if !text.is_empty() {
            let handoff = (message.purpose == Purpose::Transition)
                .then(|| handoffs.next())
                .flatten()
                .map(|(handoff, number)| HandoffNote { number, to: names.get(handoff.to) });
            let (at, who) = (message.at, author_name(session, message, names));
            lines.push(ViewLine::Message { run: message.run, at, who, text, handoff });
        }
        if let Some(RunOutcome::Escalated { reason }) =
            run.filter(|_| ends_run).map(|run| &run.outcome)
        {
            let escalation = session.escalation.as_ref();
            let urgency = escalation.map(|escalation| escalation.state.request.urgency);
            lines.push(ViewLine::Escalation { run: message.run, reason: reason.clone(), urgency });
        }
    }
    lines.extend(changes.cloned().map(ViewLine::Change));
    lines
}

/// Returns the calls in the turns of an agent.
fn calls(
    run: &RunRecord,
    agent: AgentId,
    messages: &[ThreadMessage],
    names: &AgentNames,
) -> Vec<ViewLine> {
    let line = |turn: &TurnRecord, decision: &GateRecord, approval: Option<ApprovalId>| {
        let call = CallRecord::find(messages, run.id, turn.agent, &decision.call);
        ViewLine::Call(Box::new(CallLine {
            run: run.id,
            who: names.get(agent),
            tool: decision.tool.clone(),
            arguments: call.arguments.cloned(),
            decision: decision.verdict.verdict(),
            why: decision.verdict.to_string(),
            approval,
            status: call.outcome.map(|outcome| outcome.status),
            result: call.outcome.map(|outcome| outcome.content.clone()),
            rule: None,
            agent,
            verdict: decision.verdict.clone(),
            at: run.at,
        }))
    };
    let mut lines = Vec::new();
    for turn in run.turns.iter().filter(|turn| turn.agent == agent) {
        let decided = turn.decisions_with_approvals();
        lines.extend(decided.map(|(decision, approval)| line(turn, decision, approval)));
    }
    lines
}

/// Formats the text of a message and its attachments.
fn format_message(message: &ThreadMessage) -> String {
    let text = message.text().into_owned();
    let text = (!text.is_empty()).then_some(text);
    let files = message.parts.iter().filter_map(|part| {
        let file = part.attachment()?;
        let kind = match part {
            MessagePart::Image(_) => "picture",
            MessagePart::Audio(_) => "recording",
            _ => "file",
        };
        let name = file.name.as_deref().unwrap_or("without a name");
        Some(format!("[{kind} {name}, {}, {}]", file.media_type, format_size(file.size)))
    });
    text.into_iter().chain(files).collect::<Vec<_>>().join(" ")
}

/// Formats a number of bytes.
fn format_size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

fn author_name(session: &Session, message: &ThreadMessage, names: &AgentNames) -> String {
    match &message.author {
        MessageAuthor::Customer { name } => name.clone().unwrap_or_else(|| contact_name(session)),
        MessageAuthor::Agent { id } => names.get(*id),
        MessageAuthor::Human { user } if *user == Actor::Terminal.user_id() => {
            "a person (terminal)".into()
        }
        MessageAuthor::Human { user } => format!("a person ({})", user.short()),
        MessageAuthor::System => "ostler".into(),
    }
}
