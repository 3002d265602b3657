//! `ostler permission`: the permission rules of `ostler run`, tried on calls.

pub(crate) mod files;
mod ls;
mod test;
mod trust;
mod what_if;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionCommand {
    /// List the rules in the order in which they are asked
    #[command(after_help = "\
Examples:
  ostler permission ls
  ostler permission ls --workspace ~/shop --json")]
    Ls(files::PermissionArgs),
    /// Run the tests of the rules, and show what decides about a call
    #[command(after_help = "\
Examples:
  ostler permission test
  ostler permission test run_command '{\"command\": \"git push\"}'
  ostler permission test mcp__shop__refund '{\"order\": 7}' --json

The first rung that applies decides: 1 --yes, 2 rules for tools, 3 tools granted in the
session, 4 kinds of tools granted in the session, 5 rules for kinds of tools, 6 ask.
Exit code 1 means that a rule fails its own tests.")]
    Test(test::TestArgs),
    /// Show which recorded calls another file would decide differently
    #[command(after_help = "\
Examples:
  ostler permission what-if stricter.toml
  ostler permission what-if stricter.toml --workspace ~/shop --json

FILE takes the place of your permissions.toml. The calls are those of the threads that
`ostler run --thread` has kept.")]
    WhatIf(what_if::WhatIfArgs),
    /// Let the rules of a project allow calls, as long as its file stays as it is
    #[command(after_help = "\
Examples:
  ostler permission trust --workspace ~/shop

Without it, the .ostler/permissions.toml of a project can ask and deny, but not allow.
A changed file has to be trusted again.")]
    Trust(files::PermissionArgs),
}

pub(crate) async fn run(command: &PermissionCommand) -> anyhow::Result<ExitCode> {
    match command {
        PermissionCommand::Ls(args) => ls::run(args),
        PermissionCommand::Test(args) => return test::run(args),
        PermissionCommand::WhatIf(args) => what_if::run(args).await,
        PermissionCommand::Trust(args) => trust::run(args),
    }?;
    Ok(ExitCode::SUCCESS)
}
