//! `ostler session take-over`.

use ostler_api::session::TakeoverResult;

use super::{SessionArgs, open_session, print_session};

pub(super) async fn run(args: &SessionArgs) -> anyhow::Result<()> {
    let (org, session) = open_session(args).await?;
    let id = session.id.to_string();
    let takeover: TakeoverResult = org.post(&["sessions", &id, "take-over"], &()).await?;
    let TakeoverResult { session, withdrawn, in_flight, still_sending } = &takeover;
    let text = describe(*withdrawn, in_flight.len(), still_sending.len());
    print_session(args, session, &text)
}

/// Describes what happened to the replies that the agent had written.
fn describe(withdrawn: u64, in_flight: usize, still_sending: usize) -> String {
    let mut text = "taken over".to_owned();
    if withdrawn > 0 {
        text.push_str(&format!("; unsent replies that were withdrawn: {withdrawn}"));
    }
    let ended = in_flight.saturating_sub(still_sending);
    if ended > 0 {
        text.push_str(&format!("; replies that were being sent, which has ended: {ended}"));
    }
    if still_sending > 0 {
        text.push_str(&format!("; replies that may still arrive: {still_sending}"));
    }
    text
}

#[cfg(test)]
mod tests {
    /// Z08: the operator reads what could not be stopped.
    #[test]
    fn z08_a_takeover_says_which_replies_could_not_be_stopped() {
        let check = |counts: (u64, usize, usize), expected: &str| {
            assert_eq!(super::describe(counts.0, counts.1, counts.2), expected);
        };
        check((0, 0, 0), "taken over");
        let ended = "taken over; unsent replies that were withdrawn: 2; \
                     replies that were being sent, which has ended: 1";
        check((2, 1, 0), ended);
        check((0, 2, 2), "taken over; replies that may still arrive: 2");
    }
}
