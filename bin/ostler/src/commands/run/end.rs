//! The end of a run: exit code and message.

use std::process::ExitCode;

use ostler_engine::turn::TurnEnd;

/// Returns the exit code: 0 an answer, 1 no model answered, 3 no answer within the
/// limits, 4 not enough credits, 130 stopped.
pub(super) fn exit_code(end: &TurnEnd) -> ExitCode {
    ExitCode::from(match end {
        TurnEnd::Answer { .. } => 0,
        TurnEnd::ModelFailed(_) => 1,
        TurnEnd::TimedOut | TurnEnd::StepLimit { .. } | TurnEnd::Loop { .. } => 3,
        TurnEnd::CreditsExhausted(_) => 4,
        TurnEnd::Aborted => 130,
    })
}

/// Returns the message for people if there is no answer.
pub(super) fn message(end: &TurnEnd) -> Option<String> {
    Some(match end {
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
    fn every_end_without_an_answer_has_a_message() {
        let text = "hi".to_owned();
        assert_eq!(message(&TurnEnd::Answer { text, stop: StopReason::End }), None);
        assert_eq!(message(&TurnEnd::Aborted).as_deref(), Some("Stopped."));
        let looped = message(&TurnEnd::Loop { tool: "look".into() }).expect("a message");
        assert!(looped.contains("`look`"), "{looped}");
    }
}
