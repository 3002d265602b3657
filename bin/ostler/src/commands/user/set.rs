//! `ostler user set`.

use clap::Args;
use ostler_api::user::{User, UserPatch};
use serde_json::json;

use crate::api_client::ApiClient;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::print_result;

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
    let platform = ApiClient::open(&args.installation).await?.platform().await?;
    let change = UserPatch { name: args.name.clone(), email: args.email.clone() };
    let user: User = platform.patch(&["users", &args.user], &change).await?;
    let json = json!({"id": user.id, "email": user.email, "name": user.name});
    print_result(&args.output, &json, &format!("{}  {}", user.name, user.email))
}
