//! `ostler doctor`: checks a database and says what is wrong with it.

use clap::Args;
use ostler_store::{CheckStatus, DatabaseHealth, HealthCheck, assess};
use serde::Serialize;

use super::args::{InstallationArgs, OutputArgs};
use crate::installation::Installation;
use crate::screen::{BAD, Cell, GOOD, WARNING, print_rows};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler doctor
  ostler doctor --database sqlite:ostler.db
  ostler doctor --database postgres://ostler@localhost/ostler --json")]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct CheckReport<'c> {
    check: &'c str,
    verdict: &'c str,
    says: &'c str,
}

pub(crate) async fn run(args: &DoctorArgs) -> anyhow::Result<()> {
    let checks =
        assess(&DatabaseHealth::check(&Installation::find(&args.installation)?.database()).await);
    if args.output.json {
        super::print_json(&checks.iter().map(report).collect::<Vec<_>>())?;
    } else {
        print_rows(&checks.iter().map(row).collect::<Vec<_>>());
    }
    match checks.iter().filter(|check| check.status == CheckStatus::Failed).count() {
        0 => Ok(()),
        1 => Err(anyhow::anyhow!("a check failed")),
        failed => Err(anyhow::anyhow!("{failed} checks failed")),
    }
}

fn report(check: &HealthCheck) -> CheckReport<'_> {
    CheckReport { check: check.name, verdict: check.status.name(), says: &check.message }
}

fn row(check: &HealthCheck) -> [Cell; 3] {
    let style = match check.status {
        CheckStatus::Ok => GOOD,
        CheckStatus::Warning => WARNING,
        CheckStatus::Failed => BAD,
    };
    [Cell::styled(check.status.name(), style), check.name.into(), check.message.as_str().into()]
}
