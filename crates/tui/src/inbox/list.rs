//! The list of conversations as rows.

use ostler_domain::id::SessionId;

use super::Inbox;
use super::holder::Holder;
use super::protocol::Conversation;
use crate::text::line::{Line, Row};
use crate::text::sanitize::one_line;
use crate::text::theme::Tone;
use crate::text::wrap::{cut_text, width, wrap_all};

/// The rows of the list, and the first one of the conversation that is chosen.
#[derive(Debug, Default)]
pub(super) struct ListRows {
    pub(super) rows: Vec<Row>,
    pub(super) chosen: Option<usize>,
}

impl Inbox {
    /// Returns the list for a width, at a time in milliseconds since 1970.
    pub(super) fn list_rows(&self, columns: usize, now: u64) -> ListRows {
        let mut list = ListRows::default();
        let mut group = None;
        for one in self.rows() {
            let session = &one.listed.session;
            let this = Holder::of(session).group();
            if group != Some(this) {
                if group.is_some() {
                    list.rows.push(Row::default());
                }
                let of_group =
                    |one: &&Conversation| Holder::of(&one.listed.session).group() == this;
                let count = self.rows().iter().filter(of_group).count();
                let title = format!("{} ({count})", this.title());
                list.rows.push(row(&[(" ", Tone::Plain), (&title, Tone::Heading)]));
                group = Some(this);
            }
            if self.selected == Some(session.id) {
                list.chosen = Some(list.rows.len());
            }
            list.rows.extend(self.entry(one, columns, now));
        }
        if list.rows.is_empty() {
            let (text, tone) = match (&self.conversations, self.unreadable_text()) {
                (None, Some(why)) => (why, Tone::Bad),
                (None, None) => ("Reading the conversations …".to_owned(), Tone::Dim),
                (Some(_), _) => ("No open conversations.".to_owned(), Tone::Dim),
            };
            let text = wrap_all([&Line::text(text, tone).indented(1)], columns);
            list.rows.extend(text);
        }
        list
    }

    /// Two rows: who and since when; why, or who answers.
    fn entry(&self, one: &Conversation, columns: usize, now: u64) -> [Row; 2] {
        let session = &one.listed.session;
        let holder = Holder::of(session);
        let is_chosen = self.selected == Some(session.id);
        let mark = if is_chosen { "▌" } else { " " };
        let since = holder.since().map(|since| format!(" {}", ago(since.as_millis(), now)));
        let since = since.unwrap_or_default();
        let mut name = one_line(&session.contact_name());
        if self.setting.has_several_orgs {
            name = format!("{name} · {}", one_line(&one.org_name));
        }
        let (sign, tone) = match holder {
            Holder::Waiting { .. } => ("⚑ ", Tone::Bad),
            Holder::Person { .. } => ("● ", Tone::Good),
            Holder::Agent(_) if session.pending_approvals > 0 => ("◆ ", Tone::Warning),
            Holder::Agent(_) => ("○ ", Tone::Dim),
            Holder::Closed => ("– ", Tone::Dim),
        };
        let room = columns.saturating_sub(4 + width(&since));
        let name = cut_text(&name, room);
        let gap = " ".repeat(room.saturating_sub(width(&name)));
        let name_tone = if is_chosen { Tone::Selected } else { Tone::Strong };
        let first = row(&[
            (mark, Tone::Accent),
            (sign, tone),
            (&name, name_tone),
            (&gap, Tone::Plain),
            (&since, Tone::Dim),
        ]);
        let detail = cut_text(&self.entry_detail(one, holder), columns.saturating_sub(4));
        let second = row(&[(mark, Tone::Accent), ("  ", Tone::Plain), (&detail, Tone::Dim)]);
        [first, second]
    }

    pub(super) fn entry_detail(&self, one: &Conversation, holder: Holder) -> String {
        let session = &one.listed.session;
        let mut parts = vec![session.channel.name().to_owned()];
        match holder {
            Holder::Waiting { urgency, .. } => {
                let reason = session.open_escalation().map(|one| one_line(&one.reason));
                parts.insert(0, urgency.name().to_owned());
                parts.splice(1..1, reason);
            }
            Holder::Person { user, .. } => parts.insert(0, self.person(user)),
            Holder::Agent(agent) => parts.insert(0, self.agent(agent)),
            Holder::Closed => {}
        }
        match session.pending_approvals {
            0 => {}
            1 => parts.insert(0, "1 call to decide".to_owned()),
            count => parts.insert(0, format!("{count} calls to decide")),
        }
        if one.listed.unread > 0 {
            parts.push(format!("{} unread", one.listed.unread));
        }
        if self.has_draft(session.id) {
            parts.insert(0, "✎ draft".to_owned());
        }
        parts.join(" · ")
    }

    fn has_draft(&self, session: SessionId) -> bool {
        self.drafts.has(session)
    }
}

/// Returns a row of texts.
pub(super) fn row(spans: &[(&str, Tone)]) -> Row {
    let mut row = Row::default();
    for (text, tone) in spans.iter().filter(|(text, _)| !text.is_empty()) {
        row.push(text, *tone, width(text));
    }
    row
}

/// Returns how long ago a time was, in few characters.
pub(super) fn ago(at: i64, now: u64) -> String {
    let minutes = (i64::try_from(now).unwrap_or(i64::MAX) - at).max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..2880 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}
