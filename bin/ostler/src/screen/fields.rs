//! The fields of one thing: names and values below each other.

use unicode_width::UnicodeWidthStr as _;

use super::table::Cell;
use super::{terminal_width, wrap};

/// The narrowest column of values.
const MIN_WIDTH: usize = 30;

/// Prints names and values. Long values are wrapped beside their names, so that nothing is
/// left out.
pub(crate) fn print_fields(rows: &[[Cell; 2]]) {
    for line in layout(rows, terminal_width().unwrap_or(usize::MAX)) {
        anstream::println!("{line}");
    }
}

fn layout(rows: &[[Cell; 2]], columns: usize) -> Vec<String> {
    let name_width = rows.iter().map(|[name, _]| name.text().width()).max().unwrap_or_default();
    let indent = name_width + 2;
    let room = columns.saturating_sub(indent).max(MIN_WIDTH);
    let mut lines = Vec::new();
    for [name, value] in rows {
        let (style, name_style) = (value.style(), name.style());
        let padding = indent - name.text().width();
        let mut start = format!("{name_style}{}{name_style:#}{:padding$}", name.text(), "");
        for part in wrap(value.text(), room) {
            lines.push(format!("{start}{style}{part}{style:#}"));
            start = " ".repeat(indent);
        }
        if value.text().is_empty() {
            lines.push(start.trim_end().to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{Cell, layout};

    #[test]
    fn o22_long_values_are_wrapped_beside_their_names() {
        let value = "one two three four five six seven eight";
        let rows = [[Cell::from("a"), value.into()], [Cell::from("name"), "".into()]];
        let wrapped = ["a     one two three four five six", "      seven eight", "name"];
        assert_eq!(layout(&rows, 36), wrapped);
        assert_eq!(layout(&rows, usize::MAX)[0], format!("a     {value}"));
    }
}
