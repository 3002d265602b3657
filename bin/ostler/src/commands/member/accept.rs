//! `ostler member accept`.

use clap::Args;
use ostler_domain::secret::InvitationCode;

use super::member_json;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::{Operator, print_result};

#[derive(Debug, Args)]
pub(crate) struct MemberAcceptArgs {
    /// Code of the invitation
    #[arg(value_name = "CODE")]
    code: InvitationCode,
    /// Name of the person, for a new account
    #[arg(long, value_name = "NAME")]
    name: String,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &MemberAcceptArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.installation).await?;
    let (org, member) =
        operator.operations().accept_invitation(&args.code, &args.name, None).await?;
    let org = operator.store.org(org).org().await?;
    let mut json = member_json(&member);
    json["org"] = org.slug.clone().into();
    let text = format!("{} is {} of {}", member.user.email, member.role, org.name);
    print_result(&args.output, &json, &text)
}
