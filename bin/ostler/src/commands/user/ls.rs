//! `ostler user ls`.

use clap::Args;
use ostler_api::user::User;

use crate::api_client::ApiClient;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::screen::{Cell, HEADER, print_rows};

/// The most accounts that are listed.
const LIST_LIMIT: usize = 10_000;

#[derive(Debug, Args)]
pub(crate) struct UserLsArgs {
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &UserLsArgs) -> anyhow::Result<()> {
    let platform = ApiClient::open(&args.installation).await?.platform().await?;
    let users: Vec<User> = platform.list(&["users"], &[], LIST_LIMIT).await?;
    if args.output.json {
        return crate::commands::print_json(&users);
    }
    if users.is_empty() {
        anstream::println!("there are no users; add one with `ostler member add`");
        return Ok(());
    }
    let mut rows = vec![["e-mail", "name", "roles"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(users.iter().map(|user| {
        let roles = user.memberships.iter();
        let roles: Vec<String> = roles.map(|one| format!("{} in {}", one.role, one.org)).collect();
        [user.email.as_str().into(), user.name.as_str().into(), roles.join(", ").into()]
    }));
    print_rows(&rows);
    Ok(())
}
