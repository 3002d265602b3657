//! What agents are writing at the moment, folded from the deltas of the event stream. The
//! messages that are committed replace it.

use ostler_api::event::{AgentDelta, DraftChange};
use ostler_domain::id::{AgentId, RunId};

/// A reply that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentDraft {
    run: RunId,
    attempt: u32,
    pub(super) agent: AgentId,
    pub(super) text: String,
    /// The tool that is being called.
    pub(super) calling: Option<String>,
}

/// Returns the draft of a conversation after a delta; none if nothing is written any more.
pub(super) fn apply(draft: Option<AgentDraft>, delta: AgentDelta) -> Option<AgentDraft> {
    let AgentDelta { run, agent, attempt, change, .. } = delta;
    let is_same = |draft: &AgentDraft| draft.run == run && draft.attempt == attempt;
    let empty = || AgentDraft { run, attempt, agent, text: String::new(), calling: None };
    if change == DraftChange::Over {
        return draft.filter(|draft| draft.run != run);
    }
    let mut draft = draft.filter(is_same).unwrap_or_else(empty);
    match change {
        // A repeat is known; after a gap, the committed message brings all of it.
        DraftChange::Text { offset, text } if offset == draft.text.len() => {
            draft.text.push_str(&text);
            draft.calling = None;
        }
        DraftChange::Calling { tool } => draft.calling = Some(tool),
        DraftChange::DraftDiscarded => draft.text.clear(),
        DraftChange::Text { .. } | DraftChange::Over | DraftChange::Other => {}
    }
    Some(draft)
}

#[cfg(test)]
mod tests {
    use ostler_api::event::AgentDelta;
    use ostler_domain::id::{AgentId, RunId, SessionId};
    use serde_json::{Value, json};

    use super::apply;

    fn delta(run: u128, attempt: u32, change: Value) -> AgentDelta {
        let mut delta = json!({
            "session": SessionId::from_u128(1).to_string(),
            "run": RunId::from_u128(run).to_string(),
            "agent": AgentId::from_u128(1).to_string(),
            "attempt": attempt,
        });
        let Value::Object(fields) = change else { panic!("an object") };
        delta.as_object_mut().expect("an object").extend(fields);
        serde_json::from_value(delta).expect("a delta")
    }

    /// M43: what an agent writes is the text so far, whatever is repeated, missed or discarded.
    #[test]
    fn m43_the_inbox_shows_what_an_agent_writes() {
        let text =
            |offset: usize, text: &str| json!({"delta": "text", "offset": offset, "text": text});
        let steps = [
            (delta(1, 0, text(0, "Hel")), Some(("Hel", None))),
            (delta(1, 0, text(3, "lo")), Some(("Hello", None))),
            (delta(1, 0, text(0, "Hel")), Some(("Hello", None))),
            (delta(1, 0, text(9, "gap")), Some(("Hello", None))),
            (
                delta(1, 0, json!({"delta": "calling", "tool": "find"})),
                Some(("Hello", Some("find"))),
            ),
            (delta(1, 0, text(5, "!")), Some(("Hello!", None))),
            (delta(1, 1, json!({"delta": "draft_discarded"})), Some(("", None))),
            (delta(1, 1, text(0, "Bye")), Some(("Bye", None))),
            (delta(1, 1, json!({"delta": "of_a_newer_server"})), Some(("Bye", None))),
            (delta(2, 0, json!({"delta": "over"})), Some(("Bye", None))),
            (delta(1, 1, json!({"delta": "over"})), None),
        ];
        let mut draft = None;
        for (number, (delta, expected)) in steps.into_iter().enumerate() {
            draft = apply(draft, delta);
            let found = draft.as_ref().map(|it| (it.text.as_str(), it.calling.as_deref()));
            assert_eq!(found, expected, "step {number}");
        }
    }
}
