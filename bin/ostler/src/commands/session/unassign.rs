//! `ostler session unassign`.

use serde_json::json;

use super::{SessionArgs, open_session};
use crate::commands::operator::print_result;

pub(super) async fn run(args: &SessionArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_session(args).await?;
    operator.org(&org).unassign_person(id).await?;
    let text = format!("{id}  nobody in particular looks after it");
    print_result(&args.output, &json!({"session": id, "user": null}), &text)
}
