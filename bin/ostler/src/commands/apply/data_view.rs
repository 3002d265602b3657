//! The business data of a plan, for people and programs.

use ostler_runtime::operations::RowOutcome;
use ostler_runtime::operations::world::DataPlan;
use serde_json::{Value, json};

use crate::commands::data::report::{counts, row_cells, row_json};
use crate::screen::{DIM, GOOD, HEADER, format_rows, thousands};

/// The most rows of an entry that are printed.
const MAX_ROWS: usize = 20;

/// Prints what happens to the rows of each entry. An entry without changes is left out.
pub(super) fn print(plans: &[DataPlan]) {
    for plan in plans.iter().filter(|plan| plan.changes_something() || plan.refused() > 0) {
        let DataPlan { org, kind, source, .. } = plan;
        anstream::println!("{GOOD}+{GOOD:#} {HEADER}data {org}/{kind}{HEADER:#} {source}");
        let [created, changed, unchanged, refused] = counts(&plan.import);
        let unchanged = unchanged + plan.kept;
        let [created, changed, unchanged, refused] =
            [created, changed, unchanged, refused].map(|count| thousands(count as u64));
        anstream::println!(
            "    {created} to create, {changed} to change, {unchanged} unchanged, {refused} refused"
        );
        // New records are counted only; what changes or is refused is named.
        let named: Vec<_> = plan
            .import
            .rows
            .iter()
            .filter(|row| matches!(row.outcome, RowOutcome::Change(_) | RowOutcome::Refused { .. }))
            .collect();
        let rows: Vec<_> = named.iter().take(MAX_ROWS).map(|row| row_cells(row)).collect();
        for line in format_rows(&rows) {
            anstream::println!("    row {line}");
        }
        if named.len() > MAX_ROWS {
            anstream::println!(
                "    {DIM}and {} more; --json lists them all{DIM:#}",
                named.len() - MAX_ROWS
            );
        }
        anstream::println!();
    }
}

/// Says how many records change, if any does.
pub(super) fn summary(plans: &[DataPlan]) -> Vec<String> {
    let sum =
        |index: usize| -> usize { plans.iter().map(|plan| counts(&plan.import)[index]).sum() };
    [(sum(0), "record", "to create"), (sum(1), "record", "to change"), (sum(3), "row", "refused")]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, noun, what)| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{} {noun}{plural} {what}", thousands(count as u64))
        })
        .collect()
}

/// Returns the same as JSON, with every row that is created, changed or refused.
pub(super) fn to_json(plans: &[DataPlan]) -> Value {
    let each = plans.iter().map(|plan| {
        let [created, changed, unchanged, refused] = counts(&plan.import);
        let rows = plan.import.rows.iter();
        let rows = rows.filter(|row| row.outcome != RowOutcome::Unchanged).map(row_json);
        json!({
            "org": plan.org, "kind": plan.kind.name(), "source": plan.source,
            "created": created, "changed": changed, "unchanged": unchanged + plan.kept,
            "refused": refused, "rows": rows.collect::<Vec<_>>(),
        })
    });
    Value::Array(each.collect())
}
