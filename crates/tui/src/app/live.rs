//! The live area: what is not final, the card or list that is open, the composer and the line
//! with the state of everything.

use super::{App, activity};
use crate::cells::Activity;
use crate::render;
use crate::sinks::LiveArea;
use crate::text::line::{Line, Row, Span};
use crate::text::theme::Tone;
use crate::text::wrap::wrap_all;

/// In front of the composer.
const PROMPT: &str = "› ";
/// From this width on, an entry of the help has a column of its own.
const HELP_COLUMN: usize = 40;

impl App {
    /// Returns the live area for a size, at a time in milliseconds since 1970.
    pub(crate) fn live_area(&self, pending: &[Line], size: (usize, usize), now: u64) -> LiveArea {
        let (columns, height) = (size.0.max(20), size.1.max(6));
        let (composer, cursor) = self.composer_rows(columns, height);
        let below = self.below_composer(columns, height);
        let room = height.saturating_sub(composer.len() + below.len() + 1);
        let mut above = self.above_composer(columns, room, now);
        let pending = wrap_all(pending, columns);
        let pending_room = room.saturating_sub(above.len());
        let from = pending.len().saturating_sub(pending_room);
        let mut rows: Vec<Row> = pending[from..].to_vec();
        rows.iter_mut().for_each(|row| row.joined = false);
        rows.append(&mut above);
        rows.push(rule(columns));
        let cursor = (rows.len() + cursor.0, cursor.1);
        rows.extend(composer);
        rows.extend(below);
        LiveArea { rows, cursor }
    }

    fn composer_rows(&self, columns: usize, height: usize) -> (Vec<Row>, (usize, usize)) {
        let (rows, cursor) = self.composer.rows(columns - 4);
        let room = (height / 3).max(2);
        let from = cursor.0.saturating_sub(room - 1).min(rows.len().saturating_sub(room));
        let shown = rows.into_iter().enumerate().skip(from).take(room).map(|(number, row)| {
            let mut shown = Row::default();
            shown.push(if number == 0 { PROMPT } else { "  " }, Tone::Accent, 2);
            row.spans.iter().for_each(|span| {
                let taken = crate::text::wrap::width(&span.text);
                shown.push(&span.text, span.tone, taken);
            });
            shown
        });
        (shown.collect(), (cursor.0 - from, cursor.1 + 2))
    }

    fn above_composer(&self, columns: usize, room: usize, now: u64) -> Vec<Row> {
        let mut rows = Vec::new();
        if self.show_help {
            rows = wrap_all(&self.help_lines(columns, room), columns);
        } else if let Some(picker) = &self.picker {
            rows = wrap_all(&picker.lines(), columns);
        } else if let Some((question, answers)) = self.card_lines() {
            let answers = wrap_all(&answers, columns);
            let question = wrap_all(&question, columns);
            let shown = room.saturating_sub(answers.len() + 2).max(1);
            rows.push(rule(columns));
            let cut = question.len() > shown;
            rows.extend(question.into_iter().take(if cut { shown - 1 } else { shown }));
            if cut {
                rows.extend(wrap_all(
                    [&Line::text("… (ctrl-o and alt-f show more)", Tone::Dim)],
                    columns,
                ));
            }
            rows.extend(answers);
        } else {
            let open = self.transcript.tasks.iter().any(|task| task.status != "completed");
            if open
                && self.transcript.activity == Activity::Working
                && room > self.transcript.tasks.len() + 4
            {
                let lines =
                    render::task_lines(&self.transcript.tasks, Some(activity::spinner(now)));
                rows.extend(wrap_all(&lines, columns));
            }
            if let Some(line) = self.activity_line(now) {
                rows.push(Row::default());
                rows.extend(wrap_all([&line], columns));
            }
        }
        rows.extend(wrap_all(&self.queue_lines(), columns));
        let from = rows.len().saturating_sub(room);
        rows.drain(..from);
        rows
    }

    fn queue_lines(&self) -> Vec<Line> {
        let queued = self.transcript.queued;
        if queued == 0 {
            return Vec::new();
        }
        let parked = self.transcript.activity == Activity::Idle;
        let mut lines: Vec<Line> = self
            .follow_ups
            .iter()
            .take(3)
            .map(|text| {
                Line::cut(vec![
                    Span::new("⧗ ", Tone::Accent),
                    Span::new(crate::text::sanitize::one_line(text), Tone::Dim),
                ])
            })
            .collect();
        let how = if parked {
            "waiting; Enter continues, /clear-queue discards"
        } else {
            "after this turn"
        };
        lines.push(Line::cut(vec![Span::new(format!("⧗ {queued} {how}"), Tone::Dim)]));
        lines
    }

    fn below_composer(&self, columns: usize, height: usize) -> Vec<Row> {
        let mut lines = Vec::new();
        if let Some(found) = self.completions().filter(|_| self.picker.is_none() && height > 12) {
            let chosen = self.chosen_completion(found.all.len());
            let from = (chosen + 1).saturating_sub(crate::composer::completion::SHOWN);
            for (at, one) in
                found.all.iter().enumerate().skip(from).take(crate::composer::completion::SHOWN)
            {
                let tone = if at == chosen { Tone::Selected } else { Tone::Plain };
                lines.push(Line::cut(vec![
                    Span::new("  ", Tone::Plain),
                    Span::new(one.text.trim_end(), tone),
                    Span::new(
                        format!("  {}", crate::text::sanitize::one_line(&one.detail)),
                        Tone::Dim,
                    ),
                ]));
            }
        }
        lines.push(match &self.hint {
            Some(hint) => Line::cut(vec![Span::new(hint.clone(), Tone::Warning)]),
            None => self.status_line(),
        });
        wrap_all(&lines, columns)
    }

    fn status_line(&self) -> Line {
        let (transcript, figures) = (&self.transcript, &self.figures);
        let mut spans = Vec::new();
        if figures.yolo {
            spans.push(Span::new(" YOLO: nothing is asked ", Tone::Danger));
            spans.push(Span::new(" ", Tone::Plain));
        }
        let mut parts = vec![transcript.mode.clone(), transcript.model.clone()];
        parts.push(format!(
            "{} credits{}",
            figures.credits_spent,
            self.setting.credit_limit.map_or(String::new(), |limit| format!(" of {limit}"))
        ));
        let usage = transcript.usage;
        if usage.prompt_tokens > 0 {
            parts.push(format!(
                "{} in {} out",
                short(usage.prompt_tokens),
                short(usage.completion_tokens)
            ));
        }
        if let Some(threshold) =
            transcript.budget.message_threshold.filter(|threshold| *threshold > 0)
        {
            let percent = transcript.budget.messages * 100 / threshold;
            parts.push(format!(
                "memory {percent} %{}",
                if transcript.observing { " observing" } else { "" }
            ));
        }
        let help = self.keymap.shown(crate::keymap::Action::Help);
        if !help.is_empty() {
            parts.push(format!("{help} help"));
        }
        parts.extend(figures.title.as_deref().map(crate::text::sanitize::one_line));
        parts.extend(self.setting.folder.clone());
        parts.retain(|part| !part.is_empty());
        spans.push(Span::new(parts.join(" · "), Tone::Dim));
        Line::cut(spans)
    }

    /// As many keys as there is room for, in two columns if they are wide enough.
    fn help_lines(&self, columns: usize, room: usize) -> Vec<Line> {
        let keys = self.keymap.table().into_iter().filter(|(keys, _)| !keys.is_empty());
        let cells: Vec<String> = keys.map(|(keys, help)| format!("{keys}: {help}")).collect();
        let per_row = if columns >= 2 * HELP_COLUMN { 2 } else { 1 };
        let rows = cells.len().div_ceil(per_row).min(room.saturating_sub(1));
        let width = columns / per_row;
        let mut lines: Vec<Line> = (0..rows)
            .map(|row| {
                let cells = (0..per_row).filter_map(|column| cells.get(row + column * rows));
                let cells = cells.map(|cell| Span::new(fitted(cell, width), Tone::Plain));
                Line::cut(cells.collect())
            })
            .collect();
        lines.push(Line::text(
            "/help prints all keys and commands. Any key closes this.",
            Tone::Dim,
        ));
        lines
    }
}

/// Returns a text in the width of a column of the help.
fn fitted(text: &str, columns: usize) -> String {
    let cut: String = text.chars().take(columns - 2).collect();
    format!("{cut:<columns$}")
}

fn rule(columns: usize) -> Row {
    let mut row = Row::default();
    row.push(&"─".repeat(columns - 1), Tone::Dim, columns - 1);
    row
}

/// Returns a number of tokens in few characters.
fn short(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{}.{}k", tokens / 1000, tokens % 1000 / 100),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}
