//! Tables: columns as wide as their widest cell, narrowed until the table fits.

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use super::terminal_width;
use super::text::{printable, shorten};

/// The columns between two cells.
const GAP: usize = 2;
/// The narrowest column.
const MIN_WIDTH: usize = 2;
/// How many characters of the end of an id are kept.
const ID_END: usize = 4;

/// A cell of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    style: Style,
    shortening: Shortening,
}

/// How a cell is shortened where there is no room for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Shortening {
    /// Its end is cut off.
    #[default]
    End,
    /// Only the prefix and the end of the id are left.
    Id,
    /// Not at all: a time or a number would say something else.
    Never,
}

impl Cell {
    /// Creates a cell with a style.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: printable(&text.into()), style, shortening: Shortening::End }
    }

    /// Creates a cell with an id. Where there is no room for the whole id, it is shown as
    /// `ses_…7ybc`, which the commands that take such an id accept as well.
    pub(crate) fn id(id: &(impl ToString + ?Sized)) -> Self {
        Self { shortening: Shortening::Id, ..Self::from(id.to_string()) }
    }

    /// Creates a cell that is never shortened, such as a time.
    pub(crate) fn whole(text: impl Into<String>) -> Self {
        Self { shortening: Shortening::Never, ..Self::from(text) }
    }

    /// Returns the cell with another style.
    pub(crate) fn with_style(self, style: Style) -> Self {
        Self { style, ..self }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) const fn style(&self) -> Style {
        self.style
    }

    fn width(&self) -> usize {
        self.text.width()
    }

    /// Returns the short form of an id.
    fn short_id(&self) -> Option<String> {
        let (prefix, body) = self.text.split_once('_')?;
        if self.shortening != Shortening::Id {
            return None;
        }
        let end = body.len().checked_sub(ID_END).and_then(|at| body.get(at..))?;
        let short = format!("{prefix}_…{end}");
        (short.width() < self.width()).then_some(short)
    }

    /// Returns the text in a column of this width.
    fn fit(&self, width: usize) -> String {
        if self.width() <= width {
            return self.text.clone();
        }
        match self.short_id() {
            Some(short) if short.width() <= width => short,
            Some(short) => shorten(short.trim_start_matches(|c| c != '…'), width),
            None => shorten(&self.text, width),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

/// Prints rows in columns that fit the terminal. Cells that do not fit end in `…`; output
/// to a pipe is complete.
pub(crate) fn print_rows<const N: usize>(rows: &[[Cell; N]]) {
    for line in format_rows(rows) {
        anstream::println!("{line}");
    }
}

/// Formats rows as [`print_rows`] prints them: one line for each row.
pub(crate) fn format_rows<const N: usize>(rows: &[[Cell; N]]) -> Vec<String> {
    layout(rows, terminal_width())
}

fn layout<const N: usize>(rows: &[[Cell; N]], columns: Option<usize>) -> Vec<String> {
    let widths = columns.map_or_else(|| full_widths(rows), |columns| fit_widths(rows, columns));
    let format_row = |row: &[Cell; N]| {
        let mut line = String::new();
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        for (column, cell) in row.iter().take(last).enumerate() {
            let (text, style) = (cell.fit(widths[column]), cell.style);
            let padding = if column + 1 == last { 0 } else { widths[column] - text.width() + GAP };
            line.push_str(&format!("{style}{text}{style:#}{:padding$}", ""));
        }
        line
    };
    rows.iter().map(format_row).collect()
}

/// Returns the width of the widest cell of each column.
fn full_widths<const N: usize>(rows: &[[Cell; N]]) -> [usize; N] {
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max();
    std::array::from_fn(|column| width(column).unwrap_or_default())
}

/// Returns the widths of columns that fit into this many terminal columns. Ids are
/// shortened first, which loses nothing, then whatever is widest.
fn fit_widths<const N: usize>(rows: &[[Cell; N]], columns: usize) -> [usize; N] {
    let room = columns.saturating_sub(GAP * N.saturating_sub(1));
    let has = |column: usize, how| rows.iter().any(|row| row[column].shortening == how);
    let mut widths = full_widths(rows);
    for column in (0..N).rev() {
        if widths.iter().sum::<usize>() <= room {
            return widths;
        }
        let short_width = |row: &[Cell; N]| {
            row[column].short_id().map_or_else(|| row[column].width(), |short| short.width())
        };
        if has(column, Shortening::Id) {
            widths[column] = rows.iter().map(short_width).max().unwrap_or_default();
        }
    }
    let can_shrink: [bool; N] = std::array::from_fn(|column| !has(column, Shortening::Never));
    widths = widths.map(|width| width.min(room.max(MIN_WIDTH)));
    while widths.iter().sum::<usize>() > room {
        let shrinking = widths.iter_mut().zip(can_shrink).filter(|(_, can_shrink)| *can_shrink);
        match shrinking.map(|(width, _)| width).max().filter(|width| **width > MIN_WIDTH) {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::{Cell, layout};

    const ID: &str = "ses_01jd0v4k9pf2ht6z3m8w5x7ybc";

    #[test]
    fn o22_ids_are_shortened_before_texts() {
        let rows = [
            [Cell::from("session"), "contact".into(), "reason".into()],
            [Cell::id(&ID), "Rosa".into(), "wants her money back".into()],
        ];
        let check = |columns, expected: &str| {
            assert_eq!(layout(&rows, columns)[1], expected, "{columns:?}");
        };
        check(None, "ses_01jd0v4k9pf2ht6z3m8w5x7ybc  Rosa     wants her money back");
        check(Some(61), "ses_01jd0v4k9pf2ht6z3m8w5x7ybc  Rosa     wants her money back");
        check(Some(60), "ses_…7ybc  Rosa     wants her money back");
        check(Some(34), "ses_…7ybc  Rosa     wants her mon…");
        check(Some(20), "…7ybc   Rosa   want…");
        let timed = [[Cell::whole("10:06:48"), Cell::from("a long text without a time")]];
        assert_eq!(layout(&timed, Some(16)), ["10:06:48  a lon…"]);
    }

    /// O22: no line is wider than the terminal, whatever is in the cells.
    #[test]
    fn o22_every_table_fits() {
        let words = ["", "a", "日本語の長い名前", ID, "ünïcödé wörds", &"x".repeat(200), "a\nb\tc"];
        for seed in 0..words.len().pow(3) {
            let word = |place: u32| words[seed / words.len().pow(place) % words.len()];
            let row = [Cell::from(word(0)), Cell::id(&word(1)), word(2).into(), word(0).into()];
            let rows = [["head", "of", "the", "table"].map(Cell::from), row];
            for columns in [20, 40, 80, 120] {
                for line in layout(&rows, Some(columns)) {
                    assert!(line.width() <= columns, "{columns}: {line}");
                }
            }
            let whole = layout(&rows, None).concat();
            assert!((0..3).all(|place| whole.contains(word(place)) || word(place).contains('\n')));
        }
    }
}
