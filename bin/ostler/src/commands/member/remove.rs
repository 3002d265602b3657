//! `ostler member remove`.

use clap::Args;
use ostler_runtime::operations::RemovedMember;
use serde_json::json;

use super::member_json;
use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct MemberRemoveArgs {
    /// Member by e-mail address, name or id, or invited person by e-mail address
    #[arg(value_name = "MEMBER")]
    member: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &MemberRemoveArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let (json, text) = match operator.org(&org).remove_member(&args.member).await? {
        RemovedMember::Member(member) => {
            let text = format!("{} is no member of {} any more", member.user.email, org.name);
            let mut json = member_json(&member);
            json["state"] = "removed".into();
            (json, text)
        }
        RemovedMember::Invitation(invitation) => {
            let text = format!("the invitation of {} is withdrawn", invitation.email);
            let json =
                json!({"state": "withdrawn", "id": invitation.id, "email": invitation.email});
            (json, text)
        }
    };
    print_result(&args.target.output, &json, &text)
}
