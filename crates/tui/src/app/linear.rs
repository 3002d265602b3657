//! Answers and messages that come as lines.

use ostler_api::thread::{ApprovalDecision, AskAnswer, PlanDecision};

use super::{App, Effect};
use crate::cells::AskKind;
use crate::protocol::{ChatRequest, ChatUpdate};
use crate::render;
use crate::text::line::Line;
use crate::text::theme::Tone;

impl App {
    /// Returns the first open question with how to answer it.
    pub(crate) fn card_text(&self) -> Vec<Line> {
        let Some(ask) = self.transcript.asks.first() else { return Vec::new() };
        let mut lines = render::ask::lines(ask);
        let how = match &ask.kind {
            AskKind::Approval { .. } => {
                "Answer y (yes), n REASON (no), k (this kind until the end).".to_owned()
            }
            AskKind::Plan { .. } => {
                "Answer y (follow this plan) or write what to change.".to_owned()
            }
            AskKind::Question { options, .. } => {
                for (at, option) in options.iter().enumerate() {
                    lines.push(Line::text(format!("{} {option}", at + 1), Tone::Plain));
                }
                "Write an answer or its number.".to_owned()
            }
        };
        lines.push(Line::text(how, Tone::Accent));
        lines
    }

    /// Answers the first open question with a line.
    pub(crate) fn answer_line(&mut self, line: &str) -> Vec<Effect> {
        let Some(ask) = self.transcript.asks.first() else { return Vec::new() };
        let (id, line) = (ask.id.clone(), line.trim());
        let answer = match &ask.kind {
            AskKind::Approval { .. } => {
                let (word, reason) = line.split_once(' ').unwrap_or((line, ""));
                let decision = match word {
                    "y" | "yes" => ApprovalDecision::Approve,
                    "k" | "kind" => ApprovalDecision::Always,
                    _ => ApprovalDecision::Decline,
                };
                let is_no = decision == ApprovalDecision::Decline;
                let reason = Some(reason.to_owned()).filter(|reason| is_no && !reason.is_empty());
                AskAnswer::Approval { id, decision, arguments: None, reason }
            }
            AskKind::Plan { .. } if matches!(line, "y" | "yes") => {
                AskAnswer::Plan { id, decision: PlanDecision::Approve, feedback: None }
            }
            AskKind::Plan { .. } => AskAnswer::Plan {
                id,
                decision: PlanDecision::Reject,
                feedback: Some(line.to_owned()),
            },
            AskKind::Question { options, .. } => {
                let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let option = number.and_then(|number| options.get(number));
                AskAnswer::Question {
                    id,
                    text: option.map_or_else(|| line.to_owned(), Clone::clone),
                }
            }
        };
        vec![Effect::Request(ChatRequest::Answer(answer))]
    }

    /// Sends a line, or carries out the command in it.
    pub(crate) fn message_line(&mut self, line: &str) -> Vec<Effect> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        match self.slash_command(line) {
            Some(effects) => effects,
            None => {
                self.composer.insert(line);
                let written = self.composer.whole_text();
                vec![Effect::Request(ChatRequest::Send(self.take_message(written)))]
            }
        }
    }

    /// Takes an update. A text that was refused is no part of the next line; its images stay.
    pub(crate) fn update_lines(&mut self, update: ChatUpdate) {
        let is_refused = matches!(update, ChatUpdate::Refused { text: Some(_), .. });
        self.update(update);
        if is_refused {
            self.composer.keep_images();
        }
    }
}
