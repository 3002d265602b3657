//! The inbox in lines, for pipes, simple terminals and screen readers: the list and the
//! conversation are printed, commands are read line by line.

use std::collections::BTreeMap;

use ostler_domain::id::{ApprovalId, SessionId};

use super::conversation::entries;
use super::holder::Holder;
use super::protocol::{InboxAction, InboxRequest, OpenedConversation};
use super::{Inbox, InboxEffect};
use crate::text::line::{Line, Span};
use crate::text::sanitize::one_line;
use crate::text::theme::Tone;

/// The commands, as they are printed.
const COMMANDS: &str = "Commands: NUMBER opens, l list, t take over, r TEXT reply, i TEXT note, \
                        h [TEXT] hand back, f false alarm, y approve, Y approve and call now, \
                        x REASON reject, q quit.";

/// What was printed. Commands mean what people have read.
#[derive(Debug, Default)]
pub(super) struct PrintedLines {
    /// The conversations of the list, by their numbers.
    list: Vec<SessionId>,
    session: Option<SessionId>,
    has_head: bool,
    /// The entries of the conversation as JSON, and how often each was printed.
    entries: BTreeMap<String, usize>,
    card: Option<ApprovalId>,
    not_opened: Option<String>,
    /// The conversation is read again after an action.
    pub(super) is_outdated: bool,
    /// How many commands were not carried out.
    pub(super) refused: usize,
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
        let is_unknown = self.shown().is_none() && self.not_opened.is_none();
        self.selected.is_some() && (is_unknown || self.printed.is_outdated)
    }

    /// Returns how many commands were not carried out.
    pub(crate) const fn refused_commands(&self) -> usize {
        self.printed.refused
    }

    /// Returns what has just happened, once.
    pub(crate) fn take_hint(&mut self) -> Option<Line> {
        self.hint.take().map(|(tone, text)| Line::text(text, tone))
    }

    /// Returns the list with its numbers, and the commands.
    pub(crate) fn list_text(&mut self) -> Vec<Line> {
        self.printed.list = self.rows().iter().map(|one| one.listed.session.id).collect();
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

    /// Returns what is new or has changed in the conversation that is chosen.
    pub(crate) fn news(&mut self, now: u64) -> Vec<Line> {
        let mut printed = std::mem::take(&mut self.printed);
        let mut lines = Vec::new();
        if printed.session != self.selected {
            printed.session = self.selected;
            (printed.has_head, printed.entries, printed.card) = Default::default();
            printed.not_opened = None;
        }
        if printed.not_opened != self.not_opened {
            printed.not_opened.clone_from(&self.not_opened);
            if let Some(why) = &self.not_opened {
                printed.refused += 1;
                lines.push(Line::text(format!("It cannot be shown: {why}"), Tone::Bad));
            }
        }
        if let Some(opened) = self.shown() {
            lines.extend(self.conversation_news(opened, &mut printed, now));
        }
        self.printed = printed;
        lines
    }

    fn conversation_news(
        &self,
        opened: &OpenedConversation,
        printed: &mut PrintedLines,
        now: u64,
    ) -> Vec<Line> {
        let session = &opened.transcript.session;
        let mut lines = Vec::new();
        if !std::mem::replace(&mut printed.has_head, true) {
            lines.extend(self.head_lines(session, now));
        }
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for entry in entries(opened) {
            let key = serde_json::to_string(&entry).unwrap_or_default();
            let count = counts.entry(key.clone()).or_default();
            *count += 1;
            let known = printed.entries.entry(key).or_default();
            if *count > *known {
                *known = *count;
                lines.extend(self.entry_lines(entry, session));
            }
        }
        let card = self.card.map(|card| card.approval);
        if std::mem::replace(&mut printed.card, card) != card
            && let Some((card, answers)) = self.card_lines(opened)
        {
            lines.extend(card);
            lines.push(answers);
        }
        lines
    }

    /// Carries a command out.
    pub(crate) fn command(&mut self, line: &str) -> Vec<InboxEffect> {
        self.hint = None;
        let mut effects = self.carry_out(line.trim());
        if effects.is_empty() && self.hint.is_some() {
            self.printed.refused += 1;
        }
        effects.extend(self.request_shown());
        effects
    }

    fn carry_out(&mut self, line: &str) -> Vec<InboxEffect> {
        let (word, text) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let text = text.trim().to_owned();
        if let Ok(number) = word.parse::<usize>() {
            self.open_number(number);
            return Vec::new();
        }
        let takes_no_text = matches!(word, "q" | "l" | "t" | "f" | "y" | "Y" | "");
        if text.is_empty() && !takes_no_text && word != "h" {
            self.say(Tone::Warning, COMMANDS);
            return Vec::new();
        }
        let action = match word {
            "" | "l" => return vec![InboxEffect::Request(InboxRequest::Reload)],
            "q" => return vec![InboxEffect::Quit],
            "t" => InboxAction::TakeOver,
            "r" => InboxAction::Reply { text },
            "i" => InboxAction::Note { text },
            "h" => InboxAction::HandBack { resolution: Some(text).filter(|it| !it.is_empty()) },
            "f" => InboxAction::Dismiss,
            "y" | "Y" | "x" => match self.printed_call() {
                Some(approval) if word == "x" => InboxAction::Reject { approval, reason: text },
                Some(approval) => InboxAction::Approve { approval, at_once: word == "Y" },
                None => return Vec::new(),
            },
            _ => {
                self.say(Tone::Warning, COMMANDS);
                return Vec::new();
            }
        };
        // What is written in a line is no draft.
        self.begin(action, None)
    }

    /// Returns the call that waits for a decision, if it was printed.
    fn printed_call(&mut self) -> Option<ApprovalId> {
        let waiting = self.card.map(|card| card.approval);
        if waiting.is_none() {
            self.say(Tone::Warning, "No call of this conversation waits for a decision.");
        } else if waiting != self.printed.card {
            self.say(Tone::Warning, "Another call waits now; read it first.");
            return None;
        }
        waiting
    }

    /// Opens the conversation that was printed with a number.
    fn open_number(&mut self, number: usize) {
        let printed = number.checked_sub(1).and_then(|at| self.printed.list.get(at).copied());
        let Some(session) = printed else {
            let count = self.printed.list.len();
            return self.say(Tone::Warning, format!("The list has {count} conversations."));
        };
        if !self.rows().iter().any(|one| one.listed.session.id == session) {
            let text = format!("Conversation {number} is closed; l lists those that are open.");
            return self.say(Tone::Warning, text);
        }
        self.shows_conversation = true;
        self.choose(Some(session));
    }
}
