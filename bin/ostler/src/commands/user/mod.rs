//! `ostler user`: the user accounts of an installation.

mod invite;
mod ls;
mod sessions;
mod set;
mod show;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// List the accounts of all orgs
    #[command(after_help = "\
Examples:
  ostler user ls
  ostler user ls --json")]
    Ls(ls::UserLsArgs),
    /// Show an account and its roles
    #[command(after_help = "\
Examples:
  ostler user show ada@example.com")]
    Show(show::UserShowArgs),
    /// Change the name or e-mail address of an account
    #[command(after_help = "\
Examples:
  ostler user set ada@example.com --name \"Ada Rossi\"
  ostler user set ada@example.com --email ada.rossi@example.com")]
    Set(set::UserSetArgs),
    /// Print a one-time link with which a user sets a first or new password
    #[command(after_help = "\
Examples:
  ostler user invite ada@example.com

The password that the user has stays valid until the link is used. Using it logs the user
out everywhere else. A new link replaces the one before.")]
    Invite(invite::UserInviteArgs),
    /// List the browsers in which a user is logged in
    #[command(after_help = "\
Examples:
  ostler user sessions ada@example.com")]
    Sessions(sessions::UserSessionsArgs),
    /// Log a user out of all browsers
    #[command(after_help = "\
Examples:
  ostler user log-out ada@example.com")]
    LogOut(sessions::UserSessionsArgs),
}

pub(crate) async fn run(command: &UserCommand) -> anyhow::Result<()> {
    match command {
        UserCommand::Ls(args) => ls::run(args).await,
        UserCommand::Show(args) => show::run(args).await,
        UserCommand::Set(args) => set::run(args).await,
        UserCommand::Invite(args) => invite::run(args).await,
        UserCommand::Sessions(args) => sessions::list(args).await,
        UserCommand::LogOut(args) => sessions::end(args).await,
    }
}
