//! Prints the checks: for people as lines that fit the terminal, for programs as JSON.

use std::io::Write as _;

use anstyle::Style;
use ostler_store::{CheckStatus, HealthCheck};
use serde_json::json;

use crate::screen::{BAD, GOOD, WARNING, terminal_width, wrap};

/// Messages are not made narrower than this.
const MIN_WIDTH: usize = 30;

pub(super) fn print(checks: &[HealthCheck], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let all: Vec<_> = checks
            .iter()
            .map(|check| {
                json!({"check": check.name, "status": check.status.name(), "message": check.message})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    let name_width = checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    let status_width = checks.iter().map(|check| check.status.name().len()).max();
    let status_width = status_width.unwrap_or_default();
    let indent = status_width + name_width + 4;
    // Output to a file or a pipe is one line for each check.
    let width = terminal_width().unwrap_or(usize::MAX);
    let mut out = anstream::stdout();
    for check in checks {
        let style = style(check.status);
        let status = format!("{:status_width$}", check.status.name());
        let lines = wrap(&check.message, width.saturating_sub(indent).max(MIN_WIDTH));
        let text = lines.join(&format!("\n{:indent$}", ""));
        writeln!(out, "{style}{status}{style:#}  {:name_width$}  {text}", check.name)?;
    }
    let problems = checks.iter().filter(|check| check.status != CheckStatus::Ok).count();
    match problems {
        0 => {}
        1 => writeln!(out, "\none problem")?,
        count => writeln!(out, "\n{count} problems")?,
    }
    Ok(out.flush()?)
}

const fn style(status: CheckStatus) -> Style {
    match status {
        CheckStatus::Ok => GOOD,
        CheckStatus::Warning => WARNING,
        CheckStatus::Failed => BAD,
    }
}
