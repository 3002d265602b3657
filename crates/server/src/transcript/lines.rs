//! The lines of a conversation: messages, tool calls, escalations and what people did, in
//! the order in which they happened.

use ostler_api::transcript::{
    CallLine, EscalationLine, HandoffNote, MessageLine, SessionChange, TranscriptLine,
};
use ostler_domain::id::{AgentId, ApprovalId, RunId};
use ostler_domain::message::MessagePart;
use ostler_domain::team::TeamSession;
use ostler_runtime::operations::{Actor, SessionDetail};
use ostler_runtime::records::call::{CallRecord, GateRecord};
use ostler_runtime::records::message::{MessageAuthor, Purpose, ThreadMessage};
use ostler_runtime::records::run::{RunOutcome, RunRecord, TurnRecord};
use ostler_runtime::records::session::Session;

use super::{BuiltLine, Decided, Names};
use crate::wire;

/// Merges messages, calls, escalations and changes.
pub(super) fn build(
    detail: &SessionDetail,
    changes: &[SessionChange],
    names: &Names,
) -> Vec<BuiltLine> {
    let SessionDetail { session, messages, runs, .. } = detail;
    let mut lines = Vec::new();
    let mut handoffs = session.team.iter().flat_map(TeamSession::history).zip(1..);
    let mut changes = changes.iter().peekable();
    let mut told: Vec<(RunId, AgentId)> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        while let Some(change) = changes.next_if(|change| change.at < message.at) {
            lines.push(plain(TranscriptLine::Change(change.clone())));
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
            let (run, at, who) = (message.run, message.at, author_name(session, message, names));
            let line = MessageLine { run, at, who, text, handoff };
            lines.push(plain(TranscriptLine::Message(line)));
        }
        if let Some(reason) = run.filter(|_| ends_run).and_then(reason_for_people) {
            let escalation = session.escalation.as_ref();
            let urgency = escalation.map(|escalation| escalation.state.request.urgency);
            let line = EscalationLine { run: message.run, reason, urgency };
            lines.push(plain(TranscriptLine::Escalation(line)));
        }
    }
    lines.extend(changes.cloned().map(|change| plain(TranscriptLine::Change(change))));
    lines
}

/// Returns why a run asked people to answer, if it did.
fn reason_for_people(run: &RunRecord) -> Option<String> {
    match &run.outcome {
        RunOutcome::Escalated { reason } => Some(reason.clone()),
        RunOutcome::Failed { why } => Some(format!("no answer: {why}")),
        RunOutcome::CreditsExhausted => Some("no answer: the credits are used up".to_owned()),
        _ => None,
    }
}

const fn plain(line: TranscriptLine) -> BuiltLine {
    BuiltLine { line, decided: None }
}

/// Returns the calls in the turns of an agent.
fn calls(
    run: &RunRecord,
    agent: AgentId,
    messages: &[ThreadMessage],
    names: &Names,
) -> Vec<BuiltLine> {
    let line = |turn: &TurnRecord, decision: &GateRecord, approval: Option<ApprovalId>| {
        let call = CallRecord::find(messages, run.id, turn.agent, &decision.call);
        let line = CallLine {
            run: run.id,
            who: names.get(agent),
            tool: decision.tool.clone(),
            arguments: call.arguments.cloned(),
            decision: wire::decision(&decision.verdict).to_owned(),
            why: decision.verdict.to_string(),
            approval,
            status: call.outcome.map(|outcome| outcome.status.name().to_owned()),
            status_text: call.outcome.map(|outcome| outcome.status.description().to_owned()),
            result: call.outcome.map(|outcome| outcome.content.clone()),
            rule: None,
        };
        let decided = Decided { agent, verdict: decision.verdict.clone(), at: run.at };
        BuiltLine { line: TranscriptLine::Call(Box::new(line)), decided: Some(decided) }
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

fn author_name(session: &Session, message: &ThreadMessage, names: &Names) -> String {
    match &message.author {
        MessageAuthor::Customer { name } => {
            name.clone().unwrap_or_else(|| wire::session(session).contact_name())
        }
        MessageAuthor::Agent { id } => names.get(*id),
        MessageAuthor::Human { user } if *user == Actor::Terminal.user_id() => {
            "a person (terminal)".into()
        }
        MessageAuthor::Human { user } => format!("a person ({})", names.person(*user)),
        MessageAuthor::System => "ostler".into(),
    }
}
