//! `ostler delegation`: work that was delegated to queue agents.

mod create;
pub(super) mod ls;
mod show;
mod update;

use clap::Subcommand;
use ostler_domain::id::DelegationId;
use ostler_domain::reference::ReferenceCode;

#[derive(Debug, Subcommand)]
pub(crate) enum DelegationCommand {
    /// List delegated work
    #[command(after_help = "\
Examples:
  ostler delegation ls
  ostler delegation ls --agent legal
  ostler delegation ls --overdue --json")]
    Ls(ls::DelegationLsArgs),
    /// Give work to an agent
    #[command(after_help = "\
Examples:
  ostler delegation create \"Review the contract\" --to legal --by boss \\
      --within 2h
  ostler delegation create \"Sign it\" --to boss --by legal \\
      --after OST-2026-1115-007")]
    Create(create::DelegationCreateArgs),
    /// Show a delegation, what it waits for and what it blocks
    #[command(after_help = "\
Examples:
  ostler delegation show del_01jd0v4k9pf2ht6z3m8w5x7ybc
  ostler delegation show OST-2026-1115-007 --json")]
    Show(show::DelegationShowArgs),
    /// Set the status of a delegation
    #[command(after_help = "\
Examples:
  ostler delegation update OST-2026-1115-007 in-progress
  ostler delegation update del_01jd0v4k9pf2ht6z3m8w5x7ybc complete --json")]
    Update(update::DelegationUpdateArgs),
}

pub(crate) async fn run(command: &DelegationCommand) -> anyhow::Result<()> {
    match command {
        DelegationCommand::Ls(args) => ls::run(args).await,
        DelegationCommand::Create(args) => create::run(args).await,
        DelegationCommand::Show(args) => show::run(args).await,
        DelegationCommand::Update(args) => update::run(args).await,
    }
}

/// Fails if a text cannot name a delegation.
fn check_name(name: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        name.parse::<DelegationId>().is_ok() || name.parse::<ReferenceCode>().is_ok(),
        "`{name}` is neither the id (del_…) nor the reference code (OST-…) of a delegation"
    );
    Ok(())
}
