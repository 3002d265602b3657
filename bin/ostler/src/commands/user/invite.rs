//! `ostler user invite`.

use clap::Args;
use ostler_api::account::PasswordLink;

use crate::api_client::ApiClient;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::password_link::{link_json, print_link};

#[derive(Debug, Args)]
pub(crate) struct UserInviteArgs {
    /// User, by e-mail address or id
    #[arg(value_name = "USER")]
    user: String,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &UserInviteArgs) -> anyhow::Result<()> {
    let platform = ApiClient::open(&args.installation).await?.platform().await?;
    let link: PasswordLink = platform.post(&["members", &args.user, "password-code"], &()).await?;
    if args.output.json {
        return crate::commands::print_json(&link_json(&link));
    }
    print_link(&link);
    Ok(())
}
