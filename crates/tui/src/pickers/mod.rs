//! Lists to choose from: models, modes, threads, earlier messages.

use crate::text::line::{Line, Span};
use crate::text::theme::Tone;

/// How many entries are shown at once.
const SHOWN: usize = 8;

/// What is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Mode,
    Model,
    Thread,
    History,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) detail: String,
}

/// A list that is open.
#[derive(Debug)]
pub(crate) struct Picker {
    pub(crate) choice: Choice,
    title: &'static str,
    entries: Vec<Entry>,
    filter: String,
    selected: usize,
}

impl Picker {
    pub(crate) fn new(choice: Choice, title: &'static str, entries: Vec<Entry>) -> Self {
        Self { choice, title, entries, filter: String::new(), selected: 0 }
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// Replaces the entries, for a list that is searched elsewhere.
    pub(crate) fn set_entries(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
        self.selected = 0;
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.filter.push_str(text);
        self.selected = 0;
    }

    pub(crate) fn delete(&mut self) {
        self.filter.pop();
        self.selected = 0;
    }

    pub(crate) fn up(&mut self) {
        self.selected = self.selected.saturating_sub(1);
    }

    pub(crate) fn down(&mut self) {
        let last = self.fitting().count().saturating_sub(1);
        self.selected = (self.selected + 1).min(last);
    }

    /// Returns the entry that is chosen.
    pub(crate) fn chosen(&self) -> Option<&Entry> {
        self.fitting().nth(self.selected)
    }

    /// Threads are searched in their messages too, which this list does not have.
    fn fitting(&self) -> impl Iterator<Item = &Entry> {
        let filter = self.filter.to_lowercase();
        let all = self.choice == Choice::Thread;
        self.entries.iter().filter(move |entry| all || entry.label.to_lowercase().contains(&filter))
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        let title = vec![
            Span::new(self.title, Tone::Strong),
            Span::new(format!(" {}", self.filter), Tone::Plain),
            Span::new("▏", Tone::Accent),
            Span::new("  Enter chooses, Esc closes, type to search", Tone::Dim),
        ];
        let mut lines = vec![Line::cut(title)];
        let from = (self.selected + 1).saturating_sub(SHOWN);
        for (at, entry) in self.fitting().enumerate().skip(from).take(SHOWN) {
            let tone = if at == self.selected { Tone::Selected } else { Tone::Plain };
            let mark = if at == self.selected { "› " } else { "  " };
            lines.push(Line::cut(vec![
                Span::new(mark, Tone::Accent),
                Span::new(entry.label.clone(), tone),
                Span::new(format!("  {}", entry.detail), Tone::Dim),
            ]));
        }
        let total = self.fitting().count();
        match total {
            0 => lines.push(Line::text("  nothing fits", Tone::Dim)),
            total if total > SHOWN => {
                lines.push(Line::text(format!("  {total} in all"), Tone::Dim));
            }
            _ => {}
        }
        lines
    }
}
