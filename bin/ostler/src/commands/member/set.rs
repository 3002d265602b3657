//! `ostler member set`.

use clap::Args;
use ostler_domain::org::role::Role;

use super::member_json;
use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct MemberSetArgs {
    /// Member, by e-mail address, name or id
    #[arg(value_name = "MEMBER")]
    member: String,
    /// Role: viewer, operator, admin or owner; platform_admin in the platform's org
    #[arg(long, value_name = "ROLE")]
    role: Role,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &MemberSetArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let member = operator.org(&org).set_role(&args.member, args.role).await?;
    let text = format!("{} is {} of {}", member.user.email, member.role, org.name);
    print_result(&args.target.output, &member_json(&member), &text)
}
