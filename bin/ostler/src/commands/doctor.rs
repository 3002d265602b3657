//! `ostler doctor`: looks at a database and says what is wrong with it.

use ostler_store::{Check, Grade, Health, judge};
use serde::Serialize;

use crate::cli::Doctor;
use crate::home::Home;
use crate::screen::{BAD, Cell, GOOD, WAITS, print_rows};

/// A check, as JSON.
#[derive(Serialize)]
struct Line<'c> {
    check: &'c str,
    verdict: &'c str,
    says: &'c str,
}

pub(crate) async fn run(command: &Doctor) -> anyhow::Result<()> {
    let checks = judge(&Health::of(&Home::find(&command.at)?.database()).await);
    if command.output.json {
        super::print_json(&checks.iter().map(line).collect::<Vec<_>>())?;
    } else {
        print_rows(&checks.iter().map(row).collect::<Vec<_>>());
    }
    match checks.iter().filter(|check| check.verdict == Grade::Failed).count() {
        0 => Ok(()),
        1 => Err(anyhow::anyhow!("a check failed")),
        failed => Err(anyhow::anyhow!("{failed} checks failed")),
    }
}

fn line(check: &Check) -> Line<'_> {
    Line { check: check.name, verdict: check.verdict.name(), says: &check.says }
}

fn row(check: &Check) -> [Cell; 3] {
    let style = match check.verdict {
        Grade::Ok => GOOD,
        Grade::Warning => WAITS,
        Grade::Failed => BAD,
    };
    [Cell::styled(check.verdict.name(), style), check.name.into(), check.says.as_str().into()]
}
