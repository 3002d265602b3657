//! `ostler session unassign`.

use serde_json::json;

use super::{SessionArgs, open_session};
use crate::commands::operator::print_result;

pub(super) async fn run(args: &SessionArgs) -> anyhow::Result<()> {
    let (org, session) = open_session(args).await?;
    let id = session.id;
    let () = org.delete(&["sessions", &id.to_string(), "assignee"]).await?;
    let text = format!("{id}  nobody in particular looks after it");
    print_result(&args.output, &json!({"session": id, "user": null}), &text)
}
