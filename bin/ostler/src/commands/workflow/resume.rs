//! `ostler workflow resume`: follows a workflow until it ends or waits.

use std::process::ExitCode;

use super::follow::FollowedOrg;
use super::{WorkflowArgs, find};

pub(super) async fn run(args: &WorkflowArgs) -> anyhow::Result<ExitCode> {
    let place = FollowedOrg::open(&args.target).await?;
    let id = find(&place.org, &args.workflow).await?;
    place.follow(id, args.target.output.json).await
}
