//! The inbox in the size of the terminal: a list and a conversation beside each other, or one
//! of them where there is no room for both.

use super::card::CardFrame;
use super::drafts::DraftKind;
use super::keys::{BINDINGS, InboxKey};
use super::list::row;
use super::protocol::ConnectionState;
use super::{Composing, Inbox};
use crate::sinks::LiveArea;
use crate::text::line::{Line, Row};
use crate::text::sanitize::one_line;
use crate::text::theme::Tone;
use crate::text::wrap::{cut_text, width, wrap_all};

/// From this width on, both panes are shown.
const WIDE: usize = 76;
/// The widest list.
const MAX_LIST: usize = 44;
/// In front of what is written.
const PROMPT: &str = "› ";
/// From this width on, an entry of the help has a column of its own.
const HELP_COLUMN: usize = 40;

/// A pane: its rows, and the cursor if it is there.
#[derive(Debug, Default)]
struct Pane {
    rows: Vec<Row>,
    cursor: Option<(usize, usize)>,
}

/// What is below the transcript: a call and what is being written.
struct BelowTranscript {
    pane: Pane,
    card: Option<CardFrame>,
}

impl Inbox {
    /// Returns the whole screen, at a time in milliseconds since 1970.
    pub(crate) fn screen(&mut self, size: (usize, usize), now: u64) -> LiveArea {
        let (columns, height) = (size.0.max(20), size.1.max(6));
        let body = height - 2;
        let is_wide = columns >= WIDE;
        self.is_wide = is_wide;
        if let Some(card) = &mut self.card {
            card.set_frame(None);
        }
        let mut pane = if self.show_help {
            self.help_pane(columns, body)
        } else if is_wide {
            let list = (columns * 2 / 5).min(MAX_LIST);
            let left = self.list_pane(list, body, now);
            let right = self.conversation_pane(columns - list - 2, body, now);
            beside(left, right, list, body)
        } else if self.shows_conversation {
            self.conversation_pane(columns, body, now)
        } else {
            self.list_pane(columns, body, now)
        };
        pane.rows.resize(body, Row::default());
        let mut rows = vec![self.title_row(columns, now)];
        rows.append(&mut pane.rows);
        rows.push(self.status_row(columns, is_wide));
        rows.iter_mut().for_each(|row| row.joined = false);
        let last = (height - 1, 0);
        let cursor = pane.cursor.map_or(last, |(row, column)| (row + 1, column));
        LiveArea { rows, cursor: (cursor.0.min(height - 1), cursor.1.min(columns - 1)) }
    }

    fn title_row(&self, columns: usize, now: u64) -> Row {
        let (state, tone) = match &self.connection {
            ConnectionState::Connecting => ("connecting …".to_owned(), Tone::Dim),
            ConnectionState::Live if let Some(text) = self.outdated_text() => {
                (format!(" {text} "), Tone::Danger)
            }
            ConnectionState::Live => ("● live".to_owned(), Tone::Good),
            ConnectionState::Lost { why, retry_at } => {
                let seconds = retry_at.saturating_sub(now).div_ceil(1000);
                let when = match seconds {
                    0 => "trying again …".to_owned(),
                    seconds => format!("trying again in {seconds} s"),
                };
                (format!(" No connection, {when}: {} ", one_line(why)), Tone::Danger)
            }
        };
        let state = cut_text(&state, columns * 3 / 4);
        let title = format!(" Inbox · {}", one_line(&self.setting.title));
        let room = columns.saturating_sub(width(&state) + 2);
        let title = cut_text(&title, room);
        let gap = " ".repeat(columns.saturating_sub(width(&title) + width(&state) + 1));
        row(&[(&title, Tone::Strong), (&gap, Tone::Plain), (&state, tone)])
    }

    /// Says why what is shown may be old although the connection is live.
    fn outdated_text(&self) -> Option<String> {
        let of_conversation = || {
            let why = self.not_opened.as_ref().filter(|_| self.shown().is_some())?;
            Some(format!("The conversation cannot be read: {why}"))
        };
        self.unreadable_text().or_else(of_conversation)
    }

    /// What has just happened, or the keys that can be pressed.
    fn status_row(&self, columns: usize, is_wide: bool) -> Row {
        let (text, tone) = match &self.hint {
            Some((tone, text)) => (text.clone(), *tone),
            None if !self.pending.is_empty() => ("Sending …".to_owned(), Tone::Accent),
            None => (self.key_hints(is_wide), Tone::Dim),
        };
        row(&[(" ", Tone::Plain), (&cut_text(&text, columns - 2), tone)])
    }

    fn key_hints(&self, is_wide: bool) -> String {
        if self.composing.is_some() {
            return "Enter sends · Alt-Enter new line · Esc keeps the draft".to_owned();
        }
        let shows_list = is_wide || !self.shows_conversation;
        let hints: &[(InboxKey, &str)] = match shows_list {
            true if is_wide => &[
                (InboxKey::Help, "keys"),
                (InboxKey::NextWaiting, "next"),
                (InboxKey::TakeOver, "take over"),
                (InboxKey::Reply, "reply"),
                (InboxKey::Note, "note"),
                (InboxKey::HandBack, "hand back"),
                (InboxKey::Quit, "quit"),
            ],
            true => &[(InboxKey::Help, "keys"), (InboxKey::Open, "open"), (InboxKey::Quit, "quit")],
            false => &[
                (InboxKey::Help, "keys"),
                (InboxKey::Back, "list"),
                (InboxKey::TakeOver, "take over"),
                (InboxKey::Reply, "reply"),
                (InboxKey::HandBack, "hand back"),
            ],
        };
        let hints = hints
            .iter()
            .filter_map(|(key, what)| self.keys.first(*key).map(|key| format!("{key} {what}")));
        hints.collect::<Vec<_>>().join(" · ")
    }

    fn list_pane(&self, columns: usize, height: usize, now: u64) -> Pane {
        let list = self.list_rows(columns, now);
        let chosen = list.chosen.unwrap_or(0);
        // The chosen one is in the window, with its group above it if there is room.
        let from = (chosen + 3).saturating_sub(height).min(list.rows.len().saturating_sub(height));
        let rows = list.rows.into_iter().skip(from).take(height).collect();
        Pane { rows, cursor: list.chosen.map(|at| (at - from, 0)) }
    }

    fn conversation_pane(&mut self, columns: usize, height: usize, now: u64) -> Pane {
        let Some(opened) = self.shown() else {
            let (text, tone) = match &self.not_opened {
                Some(why) => (format!("It cannot be shown: {why}"), Tone::Bad),
                None if self.rows().is_empty() => (String::new(), Tone::Dim),
                None => ("Reading the conversation …".to_owned(), Tone::Dim),
            };
            return Pane { rows: wrap_all([&Line::text(text, tone)], columns), cursor: None };
        };
        let head = self.head_lines(&opened.transcript.session, now);
        let mut rows = wrap_all(&head, columns);
        rows.push(rule(columns));
        let below = self.below_transcript(opened, columns, height.saturating_sub(rows.len()));
        let room = height.saturating_sub(rows.len() + below.pane.rows.len());
        let mut scrolled = self.scrolled;
        if !self.is_card_expanded() {
            let transcript = wrap_all(&self.transcript_lines(opened), columns);
            scrolled = scrolled.min(transcript.len().saturating_sub(room));
            let end = transcript.len() - scrolled;
            rows.extend_from_slice(&transcript[end.saturating_sub(room)..end]);
        }
        rows.resize(height.saturating_sub(below.pane.rows.len()), Row::default());
        let cursor = below.pane.cursor.map(|(row, column)| (rows.len() + row, column));
        rows.extend(below.pane.rows);
        rows.truncate(height);
        self.scrolled = scrolled;
        if let Some(card) = &mut self.card {
            card.set_frame(below.card);
        }
        Pane { rows, cursor }
    }

    /// The card of a call, and what is being written.
    fn below_transcript(
        &self,
        opened: &super::OpenedConversation,
        columns: usize,
        height: usize,
    ) -> BelowTranscript {
        let session = opened.transcript.session.id;
        let composing = self.composing.as_ref().filter(|one| one.session == session);
        let (composer, cursor) = match composing {
            Some(composing) => self.composer_rows(composing, opened, columns, height),
            None => (Vec::new(), None),
        };
        // The transcript keeps two rows; of a call that is expanded, one is a rule.
        let free = height.saturating_sub(composer.len() + 1);
        let room = match self.is_card_expanded() {
            true => free,
            false => (height * 2 / 3).max(4).min(free.saturating_sub(1)),
        };
        let (mut rows, mut frame) = (Vec::new(), None);
        if let Some(card) = self.card_rows(opened, columns, room) {
            rows.push(rule(columns));
            rows.extend(card.rows);
            frame = Some(card.frame);
        }
        let cursor = cursor.map(|(row, column)| (rows.len() + row, column));
        rows.extend(composer);
        BelowTranscript { pane: Pane { rows, cursor }, card: frame }
    }

    fn composer_rows(
        &self,
        composing: &Composing,
        opened: &super::OpenedConversation,
        columns: usize,
        height: usize,
    ) -> (Vec<Row>, Option<(usize, usize)>) {
        let label = self.composer_label(composing, opened);
        let label = cut_text(&label, columns.saturating_sub(6));
        let line = "─".repeat(columns.saturating_sub(width(&label) + 5));
        let mut rows = vec![row(&[
            ("── ", Tone::Dim),
            (&label, Tone::Accent),
            (" ", Tone::Plain),
            (&line, Tone::Dim),
        ])];
        let (written, cursor) = self.composer.rows(columns.saturating_sub(4).max(8));
        let room = (height / 3).max(2);
        let from = cursor.0.saturating_sub(room - 1).min(written.len().saturating_sub(room));
        for (number, one) in written.into_iter().enumerate().skip(from).take(room) {
            let mut shown = row(&[(if number == 0 { PROMPT } else { "  " }, Tone::Accent)]);
            one.spans.iter().for_each(|span| shown.push(&span.text, span.tone, width(&span.text)));
            rows.push(shown);
        }
        (rows, Some((1 + cursor.0 - from, cursor.1 + 2)))
    }

    fn composer_label(&self, composing: &Composing, opened: &super::OpenedConversation) -> String {
        let session = &opened.transcript.session;
        let name = one_line(&session.contact_name());
        match composing.kind {
            DraftKind::Reply => match super::holder::Holder::of(session) {
                super::holder::Holder::Waiting { .. } => {
                    format!("Reply to {name}; this takes the conversation over")
                }
                _ => format!("Reply to {name}"),
            },
            DraftKind::Note => "Note; neither the customer nor an agent reads it".to_owned(),
            DraftKind::Resolution => {
                "Hand back: what should the agent know? It may be empty".to_owned()
            }
            DraftKind::Reason => {
                let found =
                    opened.approvals.iter().find(|one| Some(one.approval.id) == composing.approval);
                let tool = found.map_or("the call", |one| one.approval.tool.as_str());
                format!("Reject {}: why? The agent learns it", one_line(tool))
            }
        }
    }

    fn help_pane(&self, columns: usize, height: usize) -> Pane {
        let shown = BINDINGS.iter().map(|one| (self.keys.shown(one.key), one.help));
        let cells: Vec<String> = shown
            .filter(|(keys, _)| !keys.is_empty())
            .map(|(k, help)| format!("{k}: {help}"))
            .collect();
        let per_row = if columns >= 2 * HELP_COLUMN { 2 } else { 1 };
        let count = cells.len().div_ceil(per_row).min(height.saturating_sub(1));
        let mut rows: Vec<Row> = (0..count)
            .map(|at| {
                let in_row = (0..per_row).filter_map(|column| cells.get(at + column * count));
                let texts: Vec<String> = match per_row {
                    1 => in_row.cloned().collect(),
                    _ => in_row.map(|cell| fitted(cell, columns / per_row - 1)).collect(),
                };
                row(&[(" ", Tone::Plain), (&cut_text(&texts.concat(), columns - 2), Tone::Plain)])
            })
            .collect();
        rows.push(row(&[(&cut_text(" Any key closes this.", columns), Tone::Dim)]));
        Pane { rows, cursor: None }
    }
}

/// Returns a text in the width of a column of the help.
fn fitted(text: &str, columns: usize) -> String {
    let cut = cut_text(text, columns - 2);
    format!("{cut}{}", " ".repeat(columns - width(&cut)))
}

fn rule(columns: usize) -> Row {
    row(&[(&"─".repeat(columns.saturating_sub(1)), Tone::Dim)])
}

/// Puts two panes beside each other.
fn beside(left: Pane, right: Pane, columns: usize, height: usize) -> Pane {
    let (mut lefts, mut rights) = (left.rows.into_iter(), right.rows.into_iter());
    let rows = (0..height).map(|_| {
        let mut row = lefts.next().unwrap_or_default();
        let gap = columns.saturating_sub(row.width);
        row.push(&" ".repeat(gap), Tone::Plain, gap);
        row.push("│ ", Tone::Dim, 2);
        for span in rights.next().unwrap_or_default().spans {
            row.push(&span.text, span.tone, width(&span.text));
        }
        row
    });
    let rows = rows.collect();
    let cursor = right.cursor.map(|(row, column)| (row, column + columns + 2)).or(left.cursor);
    Pane { rows, cursor }
}
