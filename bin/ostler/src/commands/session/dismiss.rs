//! `ostler session dismiss`.

use super::{SessionArgs, open_session, print_session};

pub(super) async fn run(args: &SessionArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_session(args).await?;
    let session = operator.org(&org).dismiss(id).await?;
    print_session(args, &session, "dismissed; the agent answers")
}
