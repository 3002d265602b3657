//! `ostler user invite`.

use clap::Args;

use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::Operator;
use crate::commands::password_link::PasswordLink;

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
    let operator = Operator::open(&args.installation).await?;
    let platform = operator.platform().await?;
    let created = operator.org(&platform).create_password_code(&args.user).await?;
    let link = PasswordLink::new(&operator.installation, created);
    if args.output.json {
        return crate::commands::print_json(&link.json());
    }
    link.print();
    Ok(())
}
