//! `ostler user show`.

use clap::Args;

use super::{OrgSlugs, account_json};
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::Operator;
use crate::screen::{Cell, HEADER, print_fields};

#[derive(Debug, Args)]
pub(crate) struct UserShowArgs {
    /// User, by e-mail address or id
    #[arg(value_name = "USER")]
    user: String,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &UserShowArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.installation).await?;
    let platform = operator.platform().await?;
    let account = operator.org(&platform).user(&args.user).await?;
    let slugs = OrgSlugs::load(&operator.store).await?;
    if args.output.json {
        return crate::commands::print_json(&account_json(&account, &slugs));
    }
    let user = &account.user;
    anstream::println!("{HEADER}{}{HEADER:#}  {}  {}", user.name, user.email, user.id);
    if account.password.is_none() {
        anstream::println!(
            "  has no password, so nobody can log in with this account; `ostler user invite` prints a \
             link to set one"
        );
    }
    let rows: Vec<[Cell; 2]> = account
        .memberships
        .iter()
        .map(|one| [format!("  {}", slugs.get(one.org)).into(), one.role.name().into()])
        .collect();
    print_fields(&rows);
    Ok(())
}
