//! `ostler session close`.

use super::{SessionArgs, open_session, print_session};

pub(super) async fn run(args: &SessionArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_session(args).await?;
    let session = operator.org(&org).close(id).await?;
    print_session(args, &session, "closed")
}
