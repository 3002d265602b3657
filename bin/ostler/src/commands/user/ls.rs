//! `ostler user ls`.

use clap::Args;

use super::{OrgSlugs, account_json};
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::Operator;
use crate::screen::{Cell, HEADER, print_rows};

/// The most accounts that are listed.
const LIST_LIMIT: u32 = 10_000;

#[derive(Debug, Args)]
pub(crate) struct UserLsArgs {
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &UserLsArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.installation).await?;
    let platform = operator.platform().await?;
    let users = operator.org(&platform).users(None, LIST_LIMIT).await?;
    let slugs = OrgSlugs::load(&operator.store).await?;
    if args.output.json {
        let all: Vec<_> = users.iter().map(|account| account_json(account, &slugs)).collect();
        return crate::commands::print_json(&all);
    }
    if users.is_empty() {
        anstream::println!("there are no users; add one with `ostler member add`");
        return Ok(());
    }
    let mut rows = vec![["e-mail", "name", "roles"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(users.iter().map(|account| {
        let roles = account.memberships.iter();
        let roles: Vec<String> =
            roles.map(|one| format!("{} in {}", one.role, slugs.get(one.org))).collect();
        [
            account.user.email.as_str().into(),
            account.user.name.as_str().into(),
            roles.join(", ").into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
