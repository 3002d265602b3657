//! `ostler member remove`.

use clap::Args;
use ostler_api::org::RemovedPerson;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct MemberRemoveArgs {
    /// Member by e-mail address, name or id, or invited person by e-mail address
    #[arg(value_name = "MEMBER")]
    member: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &MemberRemoveArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let removed: RemovedPerson = org.delete(&["members", &args.member]).await?;
    let text = match &removed {
        RemovedPerson::Removed { email, .. } => {
            format!("{email} is no member of {} any more", org.org.name)
        }
        RemovedPerson::Withdrawn { email, .. } => format!("the invitation of {email} is withdrawn"),
    };
    print_result(&args.target.output, &serde_json::to_value(&removed)?, &text)
}
