//! The conversation that is chosen as lines: who has it, what was said and done, the call that
//! waits for a decision.

use ostler_api::approval::ApprovalDetail;
use ostler_api::session::Session;
use ostler_api::session_work::SessionNote;
use ostler_api::transcript::{CallLine, MessageLine, TranscriptLine};
use ostler_domain::gate::GateDecision;
use ostler_domain::id::{ApprovalId, SessionId};

use super::Inbox;
use super::holder::Holder;
use super::keys::InboxKey;
use super::list::ago;
use super::protocol::OpenedConversation;
use crate::render::{arguments, marked};
use crate::text::line::{Line, Span};
use crate::text::sanitize::{one_line, sanitize};
use crate::text::theme::Tone;

/// How many lines of the arguments of a call are shown.
const ARGUMENT_LINES: usize = 12;

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

    /// Returns what was said and done, with the notes of people between.
    pub(super) fn transcript_lines(&self, opened: &OpenedConversation) -> Vec<Line> {
        let customer = opened.transcript.session.contact_name();
        let mut notes = opened.work.notes.iter().peekable();
        let mut lines = Vec::new();
        for line in &opened.transcript.lines {
            let at = match line {
                TranscriptLine::Message(message) => Some(message.at),
                TranscriptLine::Change(change) => Some(change.at),
                TranscriptLine::Call(_) | TranscriptLine::Escalation(_) => None,
            };
            if let Some(at) = at {
                while let Some(note) = notes.next_if(|note| note.created_at < at) {
                    lines.extend(self.note_lines(note));
                }
            }
            lines.extend(self.transcript_line(line, &customer));
        }
        notes.for_each(|note| lines.extend(self.note_lines(note)));
        lines.extend(self.writing_lines(opened.transcript.session.id));
        let is_empty = |line: &Line| *line == Line::empty();
        let begin = usize::from(lines.first().is_some_and(is_empty));
        lines.split_off(begin)
    }

    /// Returns what an agent is writing; lines that are printed have whole messages only.
    fn writing_lines(&self, session: SessionId) -> Vec<Line> {
        let Some(draft) = self.writing.get(&session).filter(|_| !self.is_linear) else {
            return Vec::new();
        };
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

    /// Returns the call that waits for a decision, and how to answer.
    pub(super) fn card_lines(&self, opened: &OpenedConversation) -> Option<Vec<Line>> {
        let detail = self.card_approval(opened)?;
        let approval = &detail.approval;
        let others = opened.approvals.len().saturating_sub(1);
        let mut head = vec![
            Span::new("◆ Allow? ", Tone::Warning),
            Span::new(one_line(approval.tool.as_str()), Tone::Strong),
            Span::new(format!("  {}", approval.risk), Tone::Dim),
        ];
        if others > 0 {
            head.push(Span::new(format!("  {others} more after this"), Tone::Dim));
        }
        let mut lines = vec![Line::cut(head)];
        let text = serde_json::to_string_pretty(&approval.arguments).unwrap_or_default();
        let text = sanitize(&text).into_owned();
        lines.extend(
            text.lines()
                .filter(|line| !matches!(*line, "{" | "}"))
                .take(ARGUMENT_LINES)
                .map(|line| Line::text(line, Tone::Plain)),
        );
        lines.push(Line::text(format!("why: {}", self.why(detail)), Tone::Dim));
        let key = |key| self.keys.first(key).unwrap_or_else(|| "(no key)".to_owned());
        let text = format!(
            "{} approve  {} approve and call now  {} reject",
            key(InboxKey::Approve),
            key(InboxKey::ApproveNow),
            key(InboxKey::Reject)
        );
        lines.push(Line::cut(vec![Span::new(text, Tone::Accent)]));
        Some(lines)
    }

    pub(super) fn card_approval<'o>(
        &self,
        opened: &'o OpenedConversation,
    ) -> Option<&'o ApprovalDetail> {
        let id: ApprovalId = self.card?.0;
        opened.approvals.iter().find(|one| one.approval.id == id)
    }

    /// Returns the rule by which a call asks.
    fn why(&self, detail: &ApprovalDetail) -> String {
        let decision = GateDecision::Ask(detail.approval.why.clone());
        let why = one_line(&decision.to_string());
        match &detail.rule.setting {
            None => why,
            Some(setting) => {
                let place = setting.place.as_deref().map(|place| format!(", {}", one_line(place)));
                let (field, resource) = (one_line(&setting.field), one_line(&setting.resource));
                format!("{why} ({field} of {resource}{})", place.unwrap_or_default())
            }
        }
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
