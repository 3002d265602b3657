//! `ostler member add`.

use clap::Args;
use ostler_api::org::{AddedMember, NewMemberRequest};
use ostler_domain::org::role::Role;

use super::wire_member_json;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;
use crate::commands::password_link::{link_json, print_link};

#[derive(Debug, Args)]
pub(crate) struct MemberAddArgs {
    /// E-mail address of the person
    #[arg(value_name = "E-MAIL")]
    email: String,
    /// Name of the person, for a new account [default: the e-mail address]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Role: viewer, operator, admin or owner; platform_admin in the platform's org
    #[arg(long, value_name = "ROLE")]
    role: Role,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &MemberAddArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let new = NewMemberRequest {
        email: args.email.clone(),
        name: args.name.clone(),
        role: args.role,
        password_link: true,
    };
    let AddedMember { member, password_link } = org.post(&["members"], &new).await?;
    let text = format!("{} is {} of {}", member.email, member.role, org.org.name);
    let mut json = wire_member_json(&member);
    if let Some(link) = &password_link {
        json["password_link"] = link_json(link);
    }
    print_result(&args.target.output, &json, &text)?;
    if let (Some(link), false) = (&password_link, args.target.output.json) {
        print_link(link);
    }
    Ok(())
}
