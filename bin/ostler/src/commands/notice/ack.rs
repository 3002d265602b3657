//! `ostler notice ack`.

use clap::Args;
use ostler_domain::id::NoticeId;
use serde_json::json;

use super::{LIST_LIMIT, find};
use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};

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
    let (operator, org) = open_org(&args.target).await?;
    let operations = operator.org(&org);
    let ids: Vec<NoticeId> = if args.all {
        let unread = operations.unread_notices(None, LIST_LIMIT).await?;
        unread.iter().map(|stored| stored.notice.id).collect()
    } else {
        let mut ids = Vec::new();
        for name in &args.notices {
            ids.push(find(&operations, name).await?);
        }
        ids
    };
    for id in &ids {
        operations.acknowledge_notice(*id).await?;
    }
    let text = match ids.len() {
        1 => "1 notice acknowledged".to_owned(),
        count => format!("{count} notices acknowledged"),
    };
    print_result(&args.target.output, &json!({"acknowledged": ids}), &text)
}
