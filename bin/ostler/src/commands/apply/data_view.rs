//! The business data of a plan, for people and programs.

use ostler_api::data::{DataPlan, RowOutcome};

use crate::commands::data::report::row_cells;
use crate::screen::{DIM, GOOD, HEADER, format_rows, thousands};

/// The most rows of an entry that are printed.
const MAX_ROWS: usize = 20;

/// Prints what happens to the rows of each entry. An entry without changes is left out.
pub(super) fn print(plans: &[DataPlan]) {
    for plan in plans.iter().filter(|plan| plan.created + plan.changed + plan.refused > 0) {
        let DataPlan { org, kind, source, .. } = plan;
        anstream::println!("{GOOD}+{GOOD:#} {HEADER}data {org}/{kind}{HEADER:#} {source}");
        let [created, changed, unchanged, refused] =
            [plan.created, plan.changed, plan.unchanged, plan.refused]
                .map(|count| thousands(count as u64));
        anstream::println!(
            "    {created} to create, {changed} to change, {unchanged} unchanged, {refused} refused"
        );
        // New records are counted only; what changes or is refused is named.
        let named: Vec<_> = plan
            .rows
            .iter()
            .filter(|row| matches!(row.outcome, RowOutcome::Change | RowOutcome::Refused))
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
    let sum = |count: fn(&DataPlan) -> usize| -> usize { plans.iter().map(count).sum() };
    let (created, changed) = (sum(|plan| plan.created), sum(|plan| plan.changed));
    [
        (created, "record", "to create"),
        (changed, "record", "to change"),
        (sum(|plan| plan.refused), "row", "refused"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, noun, what)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {noun}{plural} {what}", thousands(count as u64))
    })
    .collect()
}
