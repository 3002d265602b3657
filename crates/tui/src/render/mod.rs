//! Cells as lines. The same cells give the same lines at every width and in every theme.

pub(crate) mod ask;
mod tool;

use ostler_api::thread_event::ThreadTask;

pub(crate) use tool::arguments;

use crate::cells::{AnswerState, Cell};
use crate::text::line::{Line, Span, Wrap};
use crate::text::markdown;
use crate::text::theme::Tone;

/// How much of a cell is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Detail {
    /// Calls are folded to a line, and long texts to their beginning.
    #[default]
    Folded,
    Expanded,
}

/// How many lines of a message of the person are shown folded.
const USER_LINES: usize = 12;

/// Lines of a cell.
#[derive(Debug, Default)]
pub(crate) struct CellLines {
    /// The lines after those that were left out.
    pub(crate) lines: Vec<Line>,
    /// How many lines of the cell, from its first, will never change.
    pub(crate) stable: usize,
}

/// Returns the lines of the cell at a place, without the first ones.
pub(crate) fn cell(cells: &[Cell], at: usize, skip: usize, detail: Detail) -> CellLines {
    let Some(cell) = cells.get(at) else { return CellLines::default() };
    let previous = at.checked_sub(1).and_then(|at| cells.get(at));
    // Calls that follow each other stand together.
    let is_near = matches!((previous, cell), (None, _) | (Some(Cell::Tool(_)), Cell::Tool(_)));
    let gap = usize::from(!is_near);
    if let Cell::Answer(answer) = cell
        && let AnswerState::Streaming { stream, lines } = &answer.state
    {
        let mut shown: Vec<Line> = std::iter::repeat_n(Line::empty(), gap).skip(skip).collect();
        shown.extend(lines.iter().skip(skip.saturating_sub(gap)).cloned());
        shown.extend(stream.tail());
        return CellLines { lines: shown, stable: gap + lines.len() };
    }
    let mut lines: Vec<Line> = std::iter::repeat_n(Line::empty(), gap).collect();
    lines.extend(content(cell, detail));
    let stable = if cell.is_final() { lines.len() } else { 0 };
    lines.drain(..skip.min(lines.len()));
    CellLines { lines, stable }
}

fn content(cell: &Cell, detail: Detail) -> Vec<Line> {
    match cell {
        Cell::User { text, attachments } => user(text, attachments, detail),
        Cell::Answer(answer) => {
            let mut lines = markdown::lines(&answer.text);
            match answer.state {
                AnswerState::Stopped => lines.push(Line::text("(stopped here)", Tone::Dim)),
                AnswerState::Discarded => {
                    lines.push(Line::text("(the text above is discarded)", Tone::Warning));
                }
                AnswerState::Complete | AnswerState::Streaming { .. } => {}
            }
            lines
        }
        Cell::Tool(call) => tool::lines(call, detail),
        Cell::Question { question, answer } => {
            let mut lines = marked("? ", Tone::Accent, question, Tone::Plain);
            lines.extend(marked("› ", Tone::Accent, answer, Tone::Strong));
            lines
        }
        Cell::Plan { title, plan, verdict } => {
            let mut lines = plan_lines(title.as_deref(), plan);
            lines.extend(marked("› ", Tone::Accent, verdict, Tone::Strong));
            lines
        }
        Cell::Tasks { tasks, whole } if *whole || detail == Detail::Expanded => {
            task_lines(tasks, None)
        }
        Cell::Tasks { tasks, .. } => vec![task_summary(tasks)],
        Cell::Error(text) => marked("✗ ", Tone::Bad, text, Tone::Bad),
        Cell::Notice(text) => marked("· ", Tone::Dim, text, Tone::Dim),
    }
}

/// Lines of a text with a mark in front of the first.
pub(crate) fn marked(mark: &str, tone: Tone, text: &str, text_tone: Tone) -> Vec<Line> {
    let space = " ".repeat(mark.chars().count());
    let rest = || Span::new(space.clone(), Tone::Plain);
    let mut lines: Vec<Line> = text
        .lines()
        .enumerate()
        .map(|(number, line)| {
            let first = if number == 0 { Span::new(mark, tone) } else { rest() };
            Line::text(line, text_tone).with_prefix(first, rest())
        })
        .collect();
    if lines.is_empty() {
        lines.push(Line::text("", text_tone).with_prefix(Span::new(mark, tone), rest()));
    }
    lines
}

fn user(text: &str, attachments: &[String], detail: Detail) -> Vec<Line> {
    let total = text.lines().count();
    let shown =
        if detail == Detail::Expanded || total <= USER_LINES + 1 { total } else { USER_LINES };
    let end =
        text.match_indices('\n').nth(shown.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let mut lines = marked("› ", Tone::Accent, &text[..end], Tone::Strong);
    if shown < total {
        lines.push(Line::text(format!("… {} more lines", total - shown), Tone::Dim).indented(2));
    }
    lines.extend(attachments.iter().flat_map(|one| marked("  ⊞ ", Tone::Dim, one, Tone::Dim)));
    lines
}

/// Returns the lines of a plan.
pub(crate) fn plan_lines(title: Option<&str>, plan: &str) -> Vec<Line> {
    let title = title.map_or_else(|| "Plan".to_owned(), |title| format!("Plan: {title}"));
    let mut lines = vec![Line::text(title, Tone::Heading)];
    lines.extend(markdown::lines(plan));
    lines
}

/// Returns a task list in one line.
fn task_summary(tasks: &[ThreadTask]) -> Line {
    let done = tasks.iter().filter(|task| task.status == "completed").count();
    let current = tasks.iter().find(|task| task.status == "in_progress");
    let current = current.map(|task| crate::text::sanitize::one_line(&task.active_form));
    Line::cut(vec![
        Span::new("☰ ", Tone::Accent),
        Span::new(format!("Tasks {done} of {}", tasks.len()), Tone::Strong),
        Span::new(current.map_or_else(String::new, |current| format!("  {current}")), Tone::Dim),
    ])
}

/// Returns the lines of a task list; a spinner marks the task that is being done.
pub(crate) fn task_lines(tasks: &[ThreadTask], spinner: Option<&str>) -> Vec<Line> {
    let done = tasks.iter().filter(|task| task.status == "completed").count();
    let mut lines = vec![Line::text(format!("Tasks {done} of {}", tasks.len()), Tone::Strong)];
    for task in tasks {
        let (mark, tone, text) = match task.status.as_str() {
            "completed" => ("✓", Tone::Good, &task.content),
            "in_progress" => (spinner.unwrap_or("▸"), Tone::Accent, &task.active_form),
            _ => ("☐", Tone::Dim, &task.content),
        };
        let text = crate::text::sanitize::one_line(text);
        let text_tone = if tone == Tone::Good { Tone::Dim } else { Tone::Plain };
        let first = Span::new(format!("  {mark} "), tone);
        let line = Line::new(vec![Span::new(text, text_tone)], Wrap::Words);
        lines.push(line.with_prefix(first, Span::new("    ", Tone::Plain)));
    }
    lines
}
