//! The end of a run: exit code and message.

use std::process::ExitCode;

use ostler_engine::model::StopReason;
use ostler_harness::TurnEnd;

use super::output::is_cut_off;

/// Returns the exit code: 0 an answer, 1 no model answered, 3 no complete answer within
/// the limits, 4 not enough credits, 130 stopped.
pub(super) fn exit_code(end: &TurnEnd) -> ExitCode {
    ExitCode::from(match end {
        TurnEnd::Answer { stop, .. } if is_cut_off(*stop) => 3,
        TurnEnd::Answer { .. } => 0,
        TurnEnd::ModelFailed(_) => 1,
        TurnEnd::TimedOut | TurnEnd::StepLimit { .. } | TurnEnd::Loop { .. } => 3,
        TurnEnd::CreditsExhausted(_) => 4,
        TurnEnd::Aborted => 130,
    })
}

/// Returns the message for people if there is no complete answer.
pub(super) fn message(end: &TurnEnd) -> Option<String> {
    Some(match end {
        TurnEnd::Answer { stop: StopReason::MaxTokens, .. } => {
            "The answer is cut off: it reached the most tokens that an answer may have.".into()
        }
        TurnEnd::Answer { stop: StopReason::Filtered, .. } => {
            "The provider withheld the answer or a part of it.".into()
        }
        TurnEnd::Answer { .. } => return None,
        TurnEnd::Aborted => "Stopped.".into(),
        TurnEnd::TimedOut => "Stopped: the time limit is reached; raise it with --timeout.".into(),
        TurnEnd::StepLimit { limit } => format!("Stopped after {limit} steps without an answer."),
        TurnEnd::Loop { tool } => format!("Stopped: the model called `{tool}` again and again."),
        TurnEnd::CreditsExhausted(short) => {
            format!("Stopped: {short}; raise the limit with --credits.")
        }
        TurnEnd::ModelFailed(error) => format!("No answer: {error}."),
    })
}

#[cfg(test)]
mod tests {
    use super::message;
    use ostler_engine::model::StopReason;
    use ostler_engine::turn::TurnEnd;

    #[test]
    fn every_end_without_a_complete_answer_has_a_message() {
        let answer = |stop| TurnEnd::Answer { text: "hi".to_owned(), stop };
        assert_eq!(message(&answer(StopReason::End)), None);
        assert!(message(&answer(StopReason::MaxTokens)).is_some());
        assert!(message(&answer(StopReason::Filtered)).is_some());
        assert_eq!(message(&TurnEnd::Aborted).as_deref(), Some("Stopped."));
        let looped = message(&TurnEnd::Loop { tool: "look".into() }).expect("a message");
        assert!(looped.contains("`look`"), "{looped}");
    }
}
