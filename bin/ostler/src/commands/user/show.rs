//! `ostler user show`.

use clap::Args;
use ostler_api::user::User;

use crate::api_client::ApiClient;
use crate::commands::args::{InstallationArgs, OutputArgs};
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
    let platform = ApiClient::open(&args.installation).await?.platform().await?;
    let user: User = platform.get(&["users", &args.user]).await?;
    if args.output.json {
        return crate::commands::print_json(&user);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  {}  {}", user.name, user.email, user.id);
    if !user.can_log_in {
        anstream::println!(
            "  has no password, so nobody can log in with this account; `ostler user invite` prints a \
             link to set one"
        );
    }
    let rows: Vec<[Cell; 2]> = user
        .memberships
        .iter()
        .map(|one| [format!("  {}", one.org).into(), one.role.name().into()])
        .collect();
    print_fields(&rows);
    Ok(())
}
