//! `ostler session take-over`.

use super::{SessionArgs, open_session, print_session};

pub(super) async fn run(args: &SessionArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_session(args).await?;
    let takeover = operator.org(&org).take_over(id).await?;
    let text = match (takeover.withdrawn, takeover.in_flight.len()) {
        (0, 0) => "taken over".to_owned(),
        (withdrawn, 0) => format!("taken over; {withdrawn} unsent replies were withdrawn"),
        (_, sending) => format!("taken over; {sending} replies were already being sent"),
    };
    print_session(args, &takeover.session, &text)
}
