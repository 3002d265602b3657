//! The inbox in lines, for pipes, simple terminals and screen readers: the list and the
//! conversation are printed, commands are read line by line.

use ostler_domain::id::SessionId;

use super::drafts::DraftKind;
use super::holder::Holder;
use super::protocol::{InboxAction, InboxRequest};
use super::{Inbox, InboxEffect};
use crate::text::line::{Line, Span};
use crate::text::sanitize::one_line;
use crate::text::theme::Tone;

/// The commands, as they are printed.
const COMMANDS: &str = "Commands: NUMBER opens, l list, t take over, r TEXT reply, i TEXT note, \
                        h [TEXT] hand back, f false alarm, y approve, Y approve and call now, \
                        x REASON reject, q quit.";

/// What was printed of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PrintedConversation {
    session: Option<SessionId>,
    lines: usize,
    has_card: bool,
}

impl Inbox {
    /// Prints lines instead of drawing a screen.
    pub(crate) const fn begin_linear(&mut self) {
        (self.is_wide, self.is_linear) = (false, true);
    }

    /// Returns whether the list was read.
    pub(crate) const fn has_list(&self) -> bool {
        self.conversations.is_some()
    }

    /// Returns whether an answer of the client is waited for.
    pub(crate) const fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns whether the conversation that is chosen is still being read.
    pub(crate) fn is_reading(&self) -> bool {
        self.selected.is_some() && self.shown().is_none() && self.not_opened.is_none()
    }

    /// Returns what has just happened, once.
    pub(crate) fn take_hint(&mut self) -> Option<Line> {
        self.hint.take().map(|(tone, text)| Line::text(text, tone))
    }

    /// Returns the list with its numbers, and the commands.
    pub(crate) fn list_text(&self) -> Vec<Line> {
        let mut lines =
            vec![Line::text(format!("Inbox of {}", one_line(&self.setting.title)), Tone::Heading)];
        let mut group = None;
        for (number, one) in self.rows().iter().enumerate() {
            let session = &one.listed.session;
            let holder = Holder::of(session);
            if group != Some(holder.group()) {
                group = Some(holder.group());
                lines.push(Line::text(format!("{}:", holder.group().title()), Tone::Strong));
            }
            let mut name = one_line(&session.contact_name());
            if self.setting.has_several_orgs {
                name = format!("{name} of {}", one_line(&one.org_name));
            }
            let since = holder.since().map(|at| format!(", since {}", (self.clock)(at)));
            lines.push(Line::new(
                vec![
                    Span::new(format!("{}. {name}", number + 1), Tone::Plain),
                    Span::new(
                        format!(
                            ": {}{}",
                            self.entry_detail(one, holder),
                            since.unwrap_or_default()
                        ),
                        Tone::Dim,
                    ),
                ],
                crate::text::line::Wrap::Words,
            ));
        }
        if self.rows().is_empty() {
            lines.push(Line::text("No open conversations.", Tone::Dim));
        }
        lines.push(Line::text(COMMANDS, Tone::Accent));
        lines
    }

    /// Returns what is new in the conversation that is chosen.
    pub(crate) fn news(&self, printed: &mut PrintedConversation, now: u64) -> Vec<Line> {
        let Some(opened) = self.shown().filter(|_| self.shows_conversation) else {
            return Vec::new();
        };
        let session = &opened.transcript.session;
        let mut lines = Vec::new();
        if printed.session != Some(session.id) {
            *printed = PrintedConversation { session: Some(session.id), ..Default::default() };
            lines.extend(self.head_lines(session, now));
        }
        let transcript = self.transcript_lines(opened);
        let from = printed.lines.min(transcript.len());
        printed.lines = transcript.len();
        lines.extend(transcript.into_iter().skip(from));
        let card = self.card_lines(opened);
        let has_card = std::mem::replace(&mut printed.has_card, card.is_some());
        lines.extend(card.filter(|_| !has_card).into_iter().flatten());
        lines
    }

    /// Carries a command out.
    pub(crate) fn command(&mut self, line: &str) -> Vec<InboxEffect> {
        let line = line.trim();
        let (word, text) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let text = text.trim().to_owned();
        if let Ok(number) = word.parse::<usize>() {
            return self.open_number(number);
        }
        let is_optional = matches!(word, "h" | "q" | "l" | "t" | "f" | "y" | "Y" | "");
        if text.is_empty() && !is_optional {
            self.hint = Some((Tone::Warning, COMMANDS.to_owned()));
            return Vec::new();
        }
        let card = self.card.map(|(approval, _)| approval);
        let (action, kind) = match (word, card) {
            ("" | "l", _) => return vec![InboxEffect::Request(InboxRequest::Reload)],
            ("q", _) => return vec![InboxEffect::Quit],
            ("t", _) => (InboxAction::TakeOver, None),
            ("r", _) => (InboxAction::Reply { text }, Some(DraftKind::Reply)),
            ("i", _) => (InboxAction::Note { text }, Some(DraftKind::Note)),
            ("h", _) => {
                let resolution = Some(text).filter(|text| !text.is_empty());
                (InboxAction::HandBack { resolution }, Some(DraftKind::Resolution))
            }
            ("f", _) => (InboxAction::Dismiss, None),
            ("y" | "Y", Some(approval)) => {
                (InboxAction::Approve { approval, at_once: word == "Y" }, None)
            }
            ("x", Some(approval)) => {
                (InboxAction::Reject { approval, reason: text }, Some(DraftKind::Reason))
            }
            ("y" | "Y" | "x", None) => {
                let text = "No call of this conversation waits for a decision.";
                self.hint = Some((Tone::Warning, text.to_owned()));
                return Vec::new();
            }
            _ => {
                self.hint = Some((Tone::Warning, COMMANDS.to_owned()));
                return Vec::new();
            }
        };
        self.begin(action, kind)
    }

    fn open_number(&mut self, number: usize) -> Vec<InboxEffect> {
        let count = self.rows().len();
        if !(1..=count).contains(&number) {
            self.hint = Some((Tone::Warning, format!("The list has {count} conversations.")));
            return Vec::new();
        }
        self.shows_conversation = true;
        self.choose(number - 1)
    }
}
