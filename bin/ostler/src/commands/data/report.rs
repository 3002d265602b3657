//! What an import did, or would do.

use ostler_api::data::{ImportReport, RowOutcome, RowPlan};
use serde_json::json;

use crate::screen::{BAD, Cell, DIM, GOOD, HEADER, WARNING, print_rows, shorten, thousands};

/// The most refused rows that are printed without a dry run.
const MAX_REFUSED: usize = 20;

/// The report of an import, and the columns that mean nothing for this kind.
pub(super) struct Report<'r> {
    pub(super) import: &'r ImportReport,
    pub(super) unused: &'r [String],
}

impl Report<'_> {
    pub(super) fn print_json(&self) -> anyhow::Result<()> {
        let mut json = json!(self.import);
        json["unused_columns"] = json!(self.unused);
        crate::commands::print_json(&json)
    }

    /// Prints every row of a dry run, else the refused ones, and the counts.
    pub(super) fn print(&self, every_row: bool) {
        let is_printed = |row: &&RowPlan| every_row || row.outcome == RowOutcome::Refused;
        let printed: Vec<&RowPlan> = self.import.rows.iter().filter(is_printed).collect();
        let shown = if every_row { printed.len() } else { printed.len().min(MAX_REFUSED) };
        let mut rows = Vec::new();
        if shown > 0 {
            rows.push(["row", "key", "", ""].map(|text| Cell::styled(text, HEADER)));
        }
        rows.extend(printed.iter().take(shown).map(|row| row_cells(row)));
        print_rows(&rows);
        if printed.len() > shown {
            let more = thousands((printed.len() - shown) as u64);
            anstream::println!("{DIM}and {more} more; --dry-run lists them all{DIM:#}");
        }
        let ImportReport { kind, applied, created, changed, unchanged, refused, .. } = self.import;
        let [created, changed, unchanged, refused] =
            [created, changed, unchanged, refused].map(|count| thousands(*count as u64));
        let verb = if *applied { "" } else { "would be " };
        anstream::println!(
            "{kind}: {created} {verb}created, {changed} changed, {unchanged} unchanged, {refused} refused"
        );
        if !self.unused.is_empty() {
            anstream::println!(
                "{DIM}columns without a meaning here: {}{DIM:#}",
                self.unused.join(", ")
            );
        }
    }
}

pub(crate) fn row_cells(row: &RowPlan) -> [Cell; 4] {
    let reason = row.reason.clone().unwrap_or_default();
    let (what, detail) = match row.outcome {
        RowOutcome::Create => (Cell::styled("create", GOOD), String::new()),
        RowOutcome::Change => {
            let fields = row.fields.clone().unwrap_or_default();
            (Cell::styled("change", WARNING), fields.join(", "))
        }
        RowOutcome::Unchanged => (Cell::styled("unchanged", DIM), String::new()),
        RowOutcome::Refused => {
            let column = row.column.as_deref().filter(|column| !column.is_empty());
            let detail = match column {
                Some(column) => format!("{column}: {reason}"),
                None => reason,
            };
            (Cell::styled("refused", BAD), detail)
        }
    };
    [row.row.to_string().into(), shorten(&row.key, 20).into(), what, detail.into()]
}
