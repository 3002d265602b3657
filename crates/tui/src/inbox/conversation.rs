//! The conversation that is chosen as lines: who has it, what was said and done.

use ostler_api::session::Session;
use ostler_api::session_work::SessionNote;
use ostler_api::transcript::{CallLine, MessageLine, TranscriptLine};
use ostler_domain::id::SessionId;
use serde::Serialize;

use super::Inbox;
use super::holder::Holder;
use super::list::ago;
use super::protocol::OpenedConversation;
use crate::render::{arguments, marked};
use crate::text::line::{Line, Span};
use crate::text::sanitize::{one_line, sanitize};
use crate::text::theme::Tone;

/// What a transcript consists of.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum TranscriptEntry<'o> {
    Line(&'o TranscriptLine),
    Note(&'o SessionNote),
}

/// Returns what was said and done, with the notes of people between.
pub(super) fn entries(opened: &OpenedConversation) -> Vec<TranscriptEntry<'_>> {
    let mut notes = opened.work.notes.iter().peekable();
    let mut entries = Vec::new();
    for line in &opened.transcript.lines {
        let at = match line {
            TranscriptLine::Message(message) => Some(message.at),
            TranscriptLine::Change(change) => Some(change.at),
            TranscriptLine::Call(_) | TranscriptLine::Escalation(_) => None,
        };
        if let Some(at) = at {
            while let Some(note) = notes.next_if(|note| note.created_at < at) {
                entries.push(TranscriptEntry::Note(note));
            }
        }
        entries.push(TranscriptEntry::Line(line));
    }
    entries.extend(notes.map(TranscriptEntry::Note));
    entries
}

impl Inbox {
    /// Returns who has the conversation, in two lines.
    pub(super) fn head_lines(&self, session: &Session, now: u64) -> Vec<Line> {
        let name = Span::new(one_line(&session.contact_name()), Tone::Strong);
        let mut where_from = vec![session.channel.name().to_owned()];
        if let Some(one) = self.chosen().filter(|_| self.setting.has_several_orgs) {
            where_from.push(one_line(&one.org_name));
        }
        let channel = Span::new(format!("  {}", where_from.join(" · ")), Tone::Dim);
        vec![Line::cut(vec![name, channel]), Line::cut(vec![self.holder_span(session, now)])]
    }

    fn holder_span(&self, session: &Session, now: u64) -> Span {
        let holder = Holder::of(session);
        let since = holder.since().map_or_else(String::new, |at| ago(at.as_millis(), now));
        match holder {
            Holder::Waiting { urgency, .. } => {
                let reason = session.open_escalation().map(|one| one_line(&one.reason));
                let reason = reason.unwrap_or_default();
                let text = format!("⚑ waits for a person ({since}, {}): {reason}", urgency.name());
                Span::new(text, Tone::Bad)
            }
            Holder::Person { user, .. } => {
                let who = self.person(user);
                let verb = if who == "you" { "have" } else { "has" };
                Span::new(format!("● {who} {verb} it ({since})"), Tone::Good)
            }
            Holder::Agent(agent) => {
                Span::new(format!("○ {} answers", self.agent(agent)), Tone::Dim)
            }
            Holder::Closed => Span::new("– closed", Tone::Dim),
        }
    }

    /// Returns the transcript, and what an agent is writing.
    pub(super) fn transcript_lines(&self, opened: &OpenedConversation) -> Vec<Line> {
        let mut lines: Vec<Line> = entries(opened)
            .into_iter()
            .flat_map(|entry| self.entry_lines(entry, &opened.transcript.session))
            .collect();
        lines.extend(self.writing_lines(opened.transcript.session.id));
        let begin = usize::from(lines.first() == Some(&Line::empty()));
        lines.split_off(begin)
    }

    pub(super) fn entry_lines(&self, entry: TranscriptEntry<'_>, session: &Session) -> Vec<Line> {
        match entry {
            TranscriptEntry::Line(line) => self.transcript_line(line, &session.contact_name()),
            TranscriptEntry::Note(note) => self.note_lines(note),
        }
    }

    fn writing_lines(&self, session: SessionId) -> Vec<Line> {
        let Some(draft) = self.writing.get(&session) else { return Vec::new() };
        let doing = match &draft.calling {
            Some(tool) => format!("uses {} …", one_line(tool)),
            None => "is writing …".to_owned(),
        };
        let who = self.agent(Some(draft.agent));
        let mut lines = vec![Line::empty(), Line::text(format!("{who} {doing}"), Tone::Accent)];
        let text = sanitize(&draft.text);
        lines.extend(text.lines().map(|line| Line::text(line, Tone::Dim)));
        lines
    }

    fn transcript_line(&self, line: &TranscriptLine, customer: &str) -> Vec<Line> {
        match line {
            TranscriptLine::Message(message) => self.message_lines(message, customer),
            TranscriptLine::Call(call) => call_lines(call),
            TranscriptLine::Escalation(escalation) => {
                let urgency = escalation.urgency.map_or("", |urgency| urgency.name());
                let reason = one_line(&escalation.reason);
                let text = format!("escalated to a person: {reason} ({urgency})");
                marked("⚑ ", Tone::Bad, &text, Tone::Bad)
            }
            // The note itself is shown.
            TranscriptLine::Change(change) if change.action == "add_note" => Vec::new(),
            TranscriptLine::Change(change) => {
                let (who, what) = (one_line(&change.who), one_line(&change.describe()));
                marked("— ", Tone::Dim, &format!("{who} {what}"), Tone::Dim)
            }
        }
    }

    fn message_lines(&self, message: &MessageLine, customer: &str) -> Vec<Line> {
        let tone = if message.who == customer { Tone::Accent } else { Tone::Strong };
        let mut lines = vec![
            Line::empty(),
            Line::cut(vec![
                Span::new(one_line(&message.who), tone),
                Span::new(format!("  {}", (self.clock)(message.at)), Tone::Dim),
            ]),
        ];
        let text = sanitize(&message.text);
        lines.extend(text.lines().map(|line| Line::text(line, Tone::Plain)));
        if let Some(handoff) = &message.handoff {
            let text = format!("handed over to {}", one_line(&handoff.to));
            lines.extend(marked("→ ", Tone::Dim, &text, Tone::Dim));
        }
        lines
    }

    fn note_lines(&self, note: &SessionNote) -> Vec<Line> {
        let (who, at) = (self.person(Some(note.author)), (self.clock)(note.created_at));
        let mut lines = vec![
            Line::empty(),
            Line::cut(vec![
                Span::new(format!("✎ note of {who}"), Tone::Warning),
                Span::new(format!("  {at}"), Tone::Dim),
            ]),
        ];
        let text = sanitize(&note.text);
        lines.extend(text.lines().map(|line| Line::text(line, Tone::Warning).indented(2)));
        lines
    }
}

fn call_lines(call: &CallLine) -> Vec<Line> {
    let (sign, tone) = match (call.decision.as_str(), call.status.as_deref()) {
        (_, Some("ok")) => ("✓ ", Tone::Good),
        ("ask", None | Some("pending_approval")) => ("◆ ", Tone::Warning),
        ("allow", None) => ("◌ ", Tone::Accent),
        ("allow", Some(_)) => ("✗ ", Tone::Bad),
        _ => ("⊘ ", Tone::Warning),
    };
    let args = call.arguments.as_ref().map(arguments).unwrap_or_default();
    let mut lines = vec![Line::cut(vec![
        Span::new(sign, tone),
        Span::new(format!("{} ", one_line(&call.tool)), Tone::Strong),
        Span::new(args, Tone::Dim),
    ])];
    let detail = match call.status.as_deref() {
        Some("ok") => None,
        None | Some("pending_approval" | "denied") => Some(one_line(&call.why)),
        Some(other) => {
            let status = call.status_text.as_deref().unwrap_or(other);
            let result = one_line(call.result.as_deref().unwrap_or_default());
            Some(format!("{}: {result}", one_line(status)))
        }
    };
    let detail = detail.filter(|_| call.decision != "allow" || call.status.is_some());
    lines.extend(detail.map(|text| Line::cut(vec![Span::new(text, Tone::Dim)]).indented(2)));
    lines
}
