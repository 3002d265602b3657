//! The call that waits for a decision: how much of it is on the screen, and when a key answers
//! it. A call is approved only after all of it was shown.

use ostler_api::approval::ApprovalDetail;
use ostler_domain::gate::GateDecision;
use ostler_domain::id::ApprovalId;

use super::keys::InboxKey;
use super::list::row;
use super::protocol::{InboxAction, OpenedConversation};
use super::{Inbox, InboxEffect};
use crate::text::line::{Line, Row, Span};
use crate::text::sanitize::{one_line, sanitize};
use crate::text::theme::Tone;
use crate::text::wrap::{cut_text, wrap_all};

/// Keys that come sooner after a call was shown were meant for what was there before.
const GUARD_MS: u64 = 300;

/// The call that is decided about next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallCard {
    pub(super) approval: ApprovalId,
    /// Since when it is on the screen without a break, in milliseconds.
    visible_since: Option<u64>,
    /// What the last frame had of it.
    frame: Option<CardFrame>,
    /// Whether its end was on the screen.
    is_read: bool,
    /// All of it is shown in the place of the transcript.
    is_expanded: bool,
    /// The first row that is shown of a call that is expanded.
    scrolled: usize,
}

/// What a frame has of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CardFrame {
    has_end: bool,
    scrolled: usize,
    /// How many of its rows are shown.
    view: usize,
}

impl CallCard {
    const fn new(approval: ApprovalId) -> Self {
        Self {
            approval,
            visible_since: None,
            frame: None,
            is_read: false,
            is_expanded: false,
            scrolled: 0,
        }
    }

    /// Takes note of what the frame that is being made has of it.
    pub(super) const fn set_frame(&mut self, frame: Option<CardFrame>) {
        self.frame = frame;
        if let Some(frame) = frame {
            self.scrolled = frame.scrolled;
            self.is_read |= frame.has_end;
        }
    }

    /// Takes note that the frame was drawn.
    pub(super) fn drawn(&mut self, now: u64) {
        self.visible_since = self.frame.map(|_| self.visible_since.unwrap_or(now));
    }
}

/// The rows of a call in a frame.
pub(super) struct CardRows {
    pub(super) rows: Vec<Row>,
    pub(super) frame: CardFrame,
}

impl Inbox {
    /// Decides which call is next: the oldest that waits.
    pub(super) fn show_next_call(&mut self, opened: &OpenedConversation) {
        let first = opened.approvals.first().map(|one| one.approval.id);
        if self.card.map(|card| card.approval) != first {
            self.card = first.map(CallCard::new);
        }
    }

    fn card_detail<'o>(&self, opened: &'o OpenedConversation) -> Option<&'o ApprovalDetail> {
        let id = self.card?.approval;
        opened.approvals.iter().find(|one| one.approval.id == id)
    }

    /// Returns whether the call takes the place of the transcript.
    pub(super) fn is_card_expanded(&self) -> bool {
        self.card.is_some_and(|card| card.is_expanded)
    }

    /// Shows all of the call, or folds it.
    pub(super) fn toggle_card(&mut self) {
        match &mut self.card {
            Some(card) => {
                card.is_expanded = !card.is_expanded;
                card.scrolled = 0;
                self.shows_conversation = true;
            }
            None => self.say(Tone::Warning, "No call of this conversation waits for a decision."),
        }
    }

    /// Folds a call that is expanded; returns whether there was one.
    pub(super) fn fold_card(&mut self) -> bool {
        let expanded = self.card.as_mut().filter(|card| card.is_expanded);
        expanded.map(|card| card.is_expanded = false).is_some()
    }

    /// Scrolls a call that is expanded; returns whether there is one.
    pub(super) fn scroll_card(&mut self, is_below: bool) -> bool {
        let Some(card) = self.card.as_mut().filter(|card| card.is_expanded) else { return false };
        // The last row of a page is the first of the next one.
        let page = card.frame.map_or(1, |frame| frame.view.saturating_sub(1).max(1));
        card.scrolled = match is_below {
            true => card.scrolled + page,
            false => card.scrolled.saturating_sub(page),
        };
        true
    }

    /// Returns the call that waits for a decision: what it is, and how to answer.
    pub(super) fn card_lines(&self, opened: &OpenedConversation) -> Option<(Vec<Line>, Line)> {
        let detail = self.card_detail(opened)?;
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
        lines.push(Line::text(format!("why: {}", why(detail)), Tone::Dim));
        let text = serde_json::to_string_pretty(&approval.arguments).unwrap_or_default();
        let text = sanitize(&text).into_owned();
        let arguments = text.lines().filter(|line| !matches!(*line, "{" | "}"));
        lines.extend(arguments.map(|line| Line::text(line, Tone::Plain)));
        let key = |key| self.keys.first(key).unwrap_or_else(|| "(no key)".to_owned());
        let answers = format!(
            "{} approve  {} reject  {} approve and call now",
            key(InboxKey::Approve),
            key(InboxKey::Reject),
            key(InboxKey::ApproveNow),
        );
        Some((lines, Line::cut(vec![Span::new(answers, Tone::Accent)])))
    }

    /// Returns the call in at most so many rows. What is left out is counted.
    pub(super) fn card_rows(
        &self,
        opened: &OpenedConversation,
        columns: usize,
        height: usize,
    ) -> Option<CardRows> {
        let card = self.card?;
        let (lines, answers) = self.card_lines(opened)?;
        let all = wrap_all(&lines, columns);
        let room = height.saturating_sub(1);
        let is_cut = all.len() > room;
        let view = if is_cut { room.saturating_sub(1) } else { all.len() };
        let most = all.len() - view;
        let scrolled = if card.is_expanded { card.scrolled.min(most) } else { 0 };
        let mut rows = all[scrolled..scrolled + view].to_vec();
        let has_end = scrolled == most;
        if is_cut && room > 0 {
            let text = self.cut_notice(card.is_expanded, scrolled, view, all.len());
            rows.push(row(&[(&cut_text(&text, columns), Tone::Warning)]));
        }
        rows.extend(wrap_all([&answers], columns));
        Some(CardRows { rows, frame: CardFrame { has_end, scrolled, view } })
    }

    /// Says how much of a call is not shown, and which key shows it.
    fn cut_notice(&self, is_expanded: bool, scrolled: usize, view: usize, count: usize) -> String {
        let key = |key| self.keys.first(key).unwrap_or_else(|| "(no key)".to_owned());
        if !is_expanded {
            return format!(
                "… {} more rows; {} shows them",
                count - view,
                key(InboxKey::ExpandCall)
            );
        }
        let (down, up) = (key(InboxKey::PageDown), key(InboxKey::PageUp));
        format!("… rows {} to {} of {count}: {down}, {up}", scrolled + 1, scrolled + view)
    }

    pub(super) fn approve(&mut self, at_once: bool, now: u64) -> Vec<InboxEffect> {
        let Some(card) = self.card_to_answer(now) else { return Vec::new() };
        if !card.is_read {
            let key = self.keys.shown(InboxKey::ExpandCall);
            self.say(Tone::Warning, format!("Read all of the call first: {key} shows it."));
            return Vec::new();
        }
        self.begin(InboxAction::Approve { approval: card.approval, at_once }, None)
    }

    /// Returns the call that is shown, if it was there before the key was pressed and nobody
    /// has answered yet.
    pub(super) fn card_to_answer(&mut self, now: u64) -> Option<CallCard> {
        let Some(card) = self.card else {
            self.say(Tone::Warning, "No call of this conversation waits for a decision.");
            return None;
        };
        if self.is_answering(card.approval) {
            self.say(Tone::Warning, "This call is being answered.");
            return None;
        }
        if card.frame.is_none() {
            let key = self.keys.shown(InboxKey::Open);
            self.say(Tone::Warning, format!("Look at the call first: {key} shows it."));
            return None;
        }
        if card.visible_since.is_none_or(|since| now < since + GUARD_MS) {
            self.say(Tone::Warning, "This call has just appeared. Look at it, and press again.");
            return None;
        }
        Some(card)
    }

    /// Returns whether a decision about a call is being sent.
    pub(super) fn is_answering(&self, id: ApprovalId) -> bool {
        self.pending.iter().any(|one| match &one.action {
            InboxAction::Approve { approval, .. } | InboxAction::Reject { approval, .. } => {
                *approval == id
            }
            _ => false,
        })
    }
}

/// Returns the rule by which a call asks.
fn why(detail: &ApprovalDetail) -> String {
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
