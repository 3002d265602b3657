//! `ostler notice ack`.

use clap::Args;
use ostler_api::notice::Notice;
use ostler_domain::id::NoticeId;
use serde_json::json;

use super::{LIST_LIMIT, find};
use crate::api_client::{Nothing, open_org};
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct NoticeAckArgs {
    /// Notices, by id or its end
    #[arg(value_name = "NOTICE", required_unless_present = "all")]
    notices: Vec<String>,
    /// Acknowledge all notices that `ostler notice ls` lists
    #[arg(long, conflicts_with = "notices")]
    all: bool,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &NoticeAckArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let ids: Vec<NoticeId> = if args.all {
        let unread: Vec<Notice> = org.list(&["notices"], &[], LIST_LIMIT).await?;
        unread.iter().map(|notice| notice.id).collect()
    } else {
        let mut ids = Vec::new();
        for name in &args.notices {
            ids.push(find(&org, name).await?);
        }
        ids
    };
    for id in &ids {
        org.post::<Nothing>(&["notices", &id.to_string(), "read"], &()).await?;
    }
    let text = match ids.len() {
        1 => "1 notice acknowledged".to_owned(),
        count => format!("{count} notices acknowledged"),
    };
    print_result(&args.target.output, &json!({"acknowledged": ids}), &text)
}
