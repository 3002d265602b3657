//! `ostler member add`.

use clap::Args;
use ostler_domain::org::role::Role;
use ostler_runtime::operations::NewMember;

use super::member_json;
use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};
use crate::commands::password_link::PasswordLink;

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
    let (operator, org) = open_org(&args.target).await?;
    let new = NewMember { email: args.email.clone(), name: args.name.clone(), role: args.role };
    let (member, code) = operator.org(&org).add_member_with_code(new).await?;
    let text = format!("{} is {} of {}", member.user.email, member.role, org.name);
    let Some(code) = code else {
        return print_result(&args.target.output, &member_json(&member), &text);
    };
    let link = PasswordLink::new(&operator.installation, code);
    if args.target.output.json {
        let mut json = member_json(&member);
        json["password_link"] = link.json();
        return crate::commands::print_json(&json);
    }
    anstream::println!("{text}");
    link.print();
    Ok(())
}
