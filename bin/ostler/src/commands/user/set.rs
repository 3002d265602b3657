//! `ostler user set`.

use clap::Args;
use serde_json::json;

use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::{Operator, print_result};

#[derive(Debug, Args)]
pub(crate) struct UserSetArgs {
    /// User, by e-mail address or id
    #[arg(value_name = "USER")]
    user: String,
    /// New name
    #[arg(long, value_name = "NAME", required_unless_present = "email")]
    name: Option<String>,
    /// New e-mail address
    #[arg(long, value_name = "E-MAIL")]
    email: Option<String>,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &UserSetArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.installation).await?;
    let platform = operator.platform().await?;
    let (name, email) = (args.name.as_deref(), args.email.as_deref());
    let user = operator.org(&platform).change_user(&args.user, name, email).await?;
    let json = json!({"id": user.id, "email": user.email, "name": user.name});
    print_result(&args.output, &json, &format!("{}  {}", user.name, user.email))
}
