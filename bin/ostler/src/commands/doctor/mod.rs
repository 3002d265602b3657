//! `ostler doctor`: checks the whole installation and says what is wrong and what to do.

mod channels;
mod configuration;
mod machine;
mod models;
mod print;
mod references;
mod services;
mod work;

use std::process::ExitCode;

use clap::Args;
use ostler_domain::org::Org;
use ostler_store::{CheckStatus, DatabaseHealth, HealthCheck, Store, assess};

use super::args::{InstallationArgs, OutputArgs};
use crate::installation::Installation;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler doctor
  ostler doctor --online
  ostler doctor --database postgres://ostler@localhost/ostler --json

It looks at configuration, database, bus, models, channels, secrets, tools, disk and the
work that waits for a person. It changes nothing. Exit codes: 0 all is well, 1 there are
problems.")]
pub(crate) struct DoctorArgs {
    /// Ask Telegram whether the tokens of bots are valid
    #[arg(long)]
    online: bool,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let checks = match Installation::find(&args.installation) {
        Ok(installation) => check(&installation, args.online).await?,
        Err(error) => vec![configuration::unreadable(&error)],
    };
    print::print(&checks, args.output.json)?;
    let healthy = checks.iter().all(|check| check.status == CheckStatus::Ok);
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn check(installation: &Installation, online: bool) -> anyhow::Result<Vec<HealthCheck>> {
    let mut checks = configuration::check(installation);
    let health = DatabaseHealth::check(&installation.database()).await;
    checks.extend(assess(&health));
    checks.extend(machine::check(installation));
    checks.push(services::check_bus(installation).await);
    let DatabaseHealth::Reachable(status) = health else { return Ok(checks) };
    if status.work.is_none() {
        return Ok(checks);
    }
    let store = Store::open(&installation.database()).await?;
    let orgs = store.orgs().await?;
    checks.extend(services::check_queue_agents(installation, &store, &orgs).await?);
    checks.push(organizations(&orgs));
    checks.push(models::check(installation, &store).await?);
    checks.push(channels::check(installation, &store, &orgs, online).await?);
    checks.push(services::check_secrets(installation, &store, &orgs).await?);
    checks.push(services::check_tools(installation, &store, &orgs).await?);
    checks.extend(work::check(&store, &orgs).await?);
    Ok(checks)
}

fn organizations(orgs: &[Org]) -> HealthCheck {
    match orgs.len() {
        0 => failed("organizations", "There are none; run `ostler init`.".into()),
        1 => ok("organizations", "There is only the platform yet.".into()),
        count => ok("organizations", format!("There are {count} organizations.")),
    }
}

const fn ok(name: &'static str, message: String) -> HealthCheck {
    HealthCheck { name, status: CheckStatus::Ok, message }
}

const fn warning(name: &'static str, message: String) -> HealthCheck {
    HealthCheck { name, status: CheckStatus::Warning, message }
}

const fn failed(name: &'static str, message: String) -> HealthCheck {
    HealthCheck { name, status: CheckStatus::Failed, message }
}

/// Joins the first problems, and counts the others.
fn join_problems(problems: &[String]) -> String {
    const MAX_SHOWN: usize = 5;
    let mut text = problems.iter().take(MAX_SHOWN).cloned().collect::<Vec<_>>().join(". ");
    if problems.len() > MAX_SHOWN {
        text.push_str(&format!(". And {} more", problems.len() - MAX_SHOWN));
    }
    if !text.ends_with('?') {
        text.push('.');
    }
    text
}
