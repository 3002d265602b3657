//! How much of the transcript was written for good, and what is left for the live area.

use crate::cells::{Cell, Transcript};
use crate::render::{self, Detail};
use crate::text::line::{Line, Row};
use crate::text::theme::Tone;
use crate::text::wrap::wrap_all;

/// How many rows are written again when the size changes. Terminals keep fewer.
const MAX_ROWS: usize = 20_000;

/// The first line that was not written for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    cell: usize,
    line: usize,
}

impl Progress {
    /// Returns the lines that are final since the last time, and those that are not.
    pub(crate) fn advance(
        &mut self,
        transcript: &Transcript,
        detail: Detail,
    ) -> (Vec<Line>, Vec<Line>) {
        let cells = &transcript.cells;
        let mut finished = Vec::new();
        let mut pending = Vec::new();
        while self.cell < cells.len() {
            let shown = render::cell(cells, self.cell, self.line, detail);
            let stable = shown.stable.saturating_sub(self.line);
            let mut lines = shown.lines.into_iter();
            finished.extend(lines.by_ref().take(stable));
            self.line = self.line.max(shown.stable);
            if !cells[self.cell].is_final() {
                pending.extend(lines);
                break;
            }
            self.cell += 1;
            self.line = 0;
        }
        for at in self.cell + 1..cells.len() {
            pending.extend(render::cell(cells, at, 0, detail).lines);
        }
        (finished, pending)
    }

    /// Begins again for another size, and returns all final rows; of a very long transcript
    /// the last ones.
    pub(crate) fn restart(
        &mut self,
        transcript: &Transcript,
        detail: Detail,
        columns: usize,
    ) -> (Vec<Row>, Vec<Line>) {
        let cells = &transcript.cells;
        let end = cells.iter().position(|cell| !cell.is_final()).unwrap_or(cells.len());
        // From the end, each cell once: laying it out is what takes time.
        let (mut first, mut total, mut laid_out) = (end, 0, Vec::new());
        while first > 0 && total < MAX_ROWS {
            first -= 1;
            let of_cell = wrap_all(&render::cell(cells, first, 0, detail).lines, columns);
            total += of_cell.len();
            laid_out.push(of_cell);
        }
        let mut rows = Vec::with_capacity(total + 1);
        if first > 0 {
            let text = "Earlier entries are not written again; the full screen has them.";
            rows = wrap_all([&Line::text(text, Tone::Dim)], columns);
        }
        rows.extend(laid_out.into_iter().rev().flatten());
        *self = Self { cell: end, line: 0 };
        let (finished, pending) = self.advance(transcript, detail);
        rows.extend(wrap_all(&finished, columns));
        (rows, pending)
    }
}

/// Returns the last rows of the transcript, at least so many if there are.
pub(crate) fn last_rows(
    transcript: &Transcript,
    detail: Detail,
    columns: usize,
    count: usize,
) -> Vec<Row> {
    let cells = &transcript.cells;
    let first = first_cell(cells, detail, columns, count);
    let lines = (first..cells.len()).flat_map(|at| render::cell(cells, at, 0, detail).lines);
    wrap_all(&lines.collect::<Vec<_>>(), columns)
}

fn first_cell(cells: &[Cell], detail: Detail, columns: usize, rows: usize) -> usize {
    let mut total = 0;
    for at in (0..cells.len()).rev() {
        total += wrap_all(&render::cell(cells, at, 0, detail).lines, columns).len();
        if total >= rows {
            return at;
        }
    }
    0
}
