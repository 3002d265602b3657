//! What an import did, or would do.

use ostler_domain::business_data::DataKind;
use ostler_runtime::operations::{ImportPlan, RowOutcome, RowPlan};
use serde_json::{Value, json};

use crate::screen::{BAD, Cell, DIM, GOOD, HEADER, WARNING, print_rows, shorten, thousands};

/// The most refused rows that are printed without a dry run.
const MAX_REFUSED: usize = 20;

/// The report of an import.
pub(super) struct Report<'r> {
    pub(super) kind: DataKind,
    pub(super) plan: &'r ImportPlan,
    /// Columns that mean nothing for this kind.
    pub(super) unused: &'r [String],
    /// Whether the plan is carried out.
    pub(super) applied: bool,
}

impl Report<'_> {
    pub(super) fn print_json(&self) -> anyhow::Result<()> {
        let [created, changed, unchanged, refused] = counts(self.plan);
        let rows: Vec<Value> = self.plan.rows.iter().map(row_json).collect();
        crate::commands::print_json(&json!({
            "kind": self.kind.name(), "applied": self.applied, "created": created,
            "changed": changed, "unchanged": unchanged, "refused": refused,
            "unused_columns": self.unused, "rows": rows,
        }))
    }

    /// Prints every row of a dry run, else the refused ones, and the counts.
    pub(super) fn print(&self, every_row: bool) {
        let is_printed =
            |row: &&RowPlan| every_row || matches!(row.outcome, RowOutcome::Refused { .. });
        let printed: Vec<&RowPlan> = self.plan.rows.iter().filter(is_printed).collect();
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
        let [created, changed, unchanged, refused] =
            counts(self.plan).map(|count| thousands(count as u64));
        let verb = if self.applied { "" } else { "would be " };
        anstream::println!(
            "{}: {created} {verb}created, {changed} changed, {unchanged} unchanged, {refused} refused",
            self.kind
        );
        if !self.unused.is_empty() {
            anstream::println!(
                "{DIM}columns without a meaning here: {}{DIM:#}",
                self.unused.join(", ")
            );
        }
    }
}

/// Returns how many rows are created, changed, unchanged and refused.
pub(crate) fn counts(plan: &ImportPlan) -> [usize; 4] {
    [
        plan.count(|outcome| matches!(outcome, RowOutcome::Create)),
        plan.count(|outcome| matches!(outcome, RowOutcome::Change(_))),
        plan.count(|outcome| matches!(outcome, RowOutcome::Unchanged)),
        plan.count(|outcome| matches!(outcome, RowOutcome::Refused { .. })),
    ]
}

pub(crate) fn row_cells(row: &RowPlan) -> [Cell; 4] {
    let (what, detail) = match &row.outcome {
        RowOutcome::Create => (Cell::styled("create", GOOD), String::new()),
        RowOutcome::Change(fields) => (Cell::styled("change", WARNING), fields.join(", ")),
        RowOutcome::Unchanged => (Cell::styled("unchanged", DIM), String::new()),
        RowOutcome::Refused { column, reason } if column.is_empty() => {
            (Cell::styled("refused", BAD), reason.clone())
        }
        RowOutcome::Refused { column, reason } => {
            (Cell::styled("refused", BAD), format!("{column}: {reason}"))
        }
    };
    [row.number.to_string().into(), shorten(&row.key, 20).into(), what, detail.into()]
}

pub(crate) fn row_json(row: &RowPlan) -> Value {
    let mut json = json!({"row": row.number, "key": row.key});
    match &row.outcome {
        RowOutcome::Create => json["outcome"] = "create".into(),
        RowOutcome::Unchanged => json["outcome"] = "unchanged".into(),
        RowOutcome::Change(fields) => {
            json["outcome"] = "change".into();
            json["fields"] = json!(fields);
        }
        RowOutcome::Refused { column, reason } => {
            json["outcome"] = "refused".into();
            json["column"] = column.as_str().into();
            json["reason"] = reason.as_str().into();
        }
    }
    json
}
