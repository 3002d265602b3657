//! `ostler member set`.

use clap::Args;
use ostler_api::org::{Member, RoleChange};
use ostler_domain::org::role::Role;

use super::wire_member_json;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;

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
    let org = open_org(&args.target).await?;
    let change = RoleChange { role: args.role };
    let member: Member = org.patch(&["members", &args.member], &change).await?;
    let text = format!("{} is {} of {}", member.email, member.role, org.org.name);
    print_result(&args.target.output, &wire_member_json(&member), &text)
}
