//! Tables of Markdown, laid out for a width. A table that does not fit is shown as a list of
//! its records.

use super::line::Row;
use super::theme::Tone;
use super::wrap::width;

const GAP: usize = 2;

/// Returns the rows of a table whose first record is the header.
pub(super) fn layout(records: &[Vec<String>], columns: usize) -> Vec<Row> {
    let count = records.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|at| records.iter().filter_map(|record| record.get(at)).map(|cell| width(cell)).max())
        .map(|widest| widest.unwrap_or(0).max(1))
        .collect();
    let total = widths.iter().sum::<usize>() + GAP * count.saturating_sub(1);
    if total <= columns { grid(records, &widths) } else { list(records, columns) }
}

fn grid(records: &[Vec<String>], widths: &[usize]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, record) in records.iter().enumerate() {
        let tone = if number == 0 { Tone::Strong } else { Tone::Plain };
        let mut row = Row::default();
        for (at, cell) in record.iter().enumerate() {
            let taken = width(cell);
            row.push(cell, tone, taken);
            if at + 1 < record.len() {
                let space = widths[at] - taken + GAP;
                row.push(&" ".repeat(space), Tone::Plain, space);
            }
        }
        rows.push(row);
        if number == 0 {
            let length = widths.iter().sum::<usize>() + GAP * (widths.len() - 1);
            let mut rule = Row::default();
            rule.push(&"─".repeat(length), Tone::Dim, length);
            rows.push(rule);
        }
    }
    rows
}

fn list(records: &[Vec<String>], columns: usize) -> Vec<Row> {
    let Some((header, records)) = records.split_first() else { return Vec::new() };
    let mut rows = Vec::new();
    for (number, record) in records.iter().enumerate() {
        if number > 0 {
            rows.push(Row::default());
        }
        for (at, cell) in record.iter().enumerate() {
            let name = header.get(at).map_or("", String::as_str);
            let line = super::line::Line::new(
                vec![
                    super::line::Span::new(format!("{name}: "), Tone::Strong),
                    super::line::Span::new(cell.clone(), Tone::Plain),
                ],
                super::line::Wrap::Words,
            );
            super::wrap::wrap(&line, columns, &mut rows);
        }
    }
    rows
}
