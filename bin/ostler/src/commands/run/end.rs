//! How a run ended, for people and for scripts.

use std::process::ExitCode;

use ostler_engine::turn::End;

/// What the program answers: 0 an answer, 1 no model answered, 3 it did not come
/// to an end, 4 the credits did not reach, 130 it was stopped.
pub(super) fn code(end: &End) -> ExitCode {
    ExitCode::from(match end {
        End::Answer { .. } => 0,
        End::ModelFailed(_) => 1,
        End::TimedOut | End::StepLimit { .. } | End::Loop { .. } => 3,
        End::CreditsExhausted(_) => 4,
        End::Aborted => 130,
    })
}

/// What people are told if there is no answer.
pub(super) fn sentence(end: &End) -> Option<String> {
    Some(match end {
        End::Answer { .. } => return None,
        End::Aborted => "Stopped.".into(),
        End::TimedOut => "Stopped: it took too long; --timeout gives it more time.".into(),
        End::StepLimit { most } => format!("Stopped after {most} steps without an answer."),
        End::Loop { tool } => format!("Stopped: the model called `{tool}` again and again."),
        End::CreditsExhausted(short) => {
            format!("Stopped: {short}; --credits gives it more.")
        }
        End::ModelFailed(error) => format!("No answer: {error}."),
    })
}

#[cfg(test)]
mod tests {
    use super::sentence;
    use ostler_engine::model::StopReason;
    use ostler_engine::turn::End;

    #[test]
    fn what_is_not_an_answer_is_said() {
        let text = "hi".to_owned();
        assert_eq!(sentence(&End::Answer { text, stop: StopReason::End }), None);
        assert_eq!(sentence(&End::Aborted).as_deref(), Some("Stopped."));
        let looped = sentence(&End::Loop { tool: "look".into() }).expect("a sentence");
        assert!(looped.contains("`look`"), "{looped}");
    }
}
