//! What an agent that was tagged in is told.

use std::fmt::Write as _;

use crate::id::AgentId;
use crate::team::TeamSession;

/// The handoff block for one agent; none while nothing has been handed over.
pub fn section(team: &TeamSession, agent: AgentId) -> Option<String> {
    let summary = team.shared.summary.as_deref().filter(|text| !text.trim().is_empty())?;
    let mut text = String::from("--- HANDOFF CONTEXT ---\nYou were tagged in by a colleague.\n");
    if let Some(last) = team.history().last() {
        let _ = writeln!(text, "You were tagged in because: {}", last.reason);
    }
    let _ = writeln!(text, "Context: {summary}");
    let optional = [
        (
            "Suggested approach",
            team.history().last().and_then(|last| last.suggested_approach.as_deref()),
        ),
        ("Note for you", team.shared.handoff_notes.get(&agent).map(String::as_str)),
        ("Goal of the conversation", team.shared.conversation_goal.as_deref()),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    for (name, value) in &team.shared.customer_profile {
        let _ = writeln!(text, "Customer {name}: {value}");
    }
    text.push_str("Continue helping the customer seamlessly.\n--- END HANDOFF CONTEXT ---");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::section;
    use crate::agent::subtype::Subtype;
    use crate::id::{AgentId, SessionId};
    use crate::money::Credits;
    use crate::money::caps::TeamBudget;
    use crate::team::TeamSession;
    use crate::team::config::TeamConfig;
    use crate::team::handoff::{HandoffFacts, HandoffRequest, validate};
    use crate::testing;
    use crate::time::Timestamp;

    fn handed_over() -> TeamSession {
        let gia = testing::agent("gia", Subtype::CustomerService);
        let enzo = testing::agent("enzo", Subtype::Other("billing".into()));
        let request = HandoffRequest {
            reason: "invoice discrepancy".into(),
            context_summary: "Rosa paid 50, expected 40 for order 1234".into(),
            suggested_approach: Some("check the invoice".into()),
        };
        let facts = HandoffFacts {
            session: SessionId::from_u128(1),
            org: gia.org,
            from: gia.id,
            target: Some(&enzo),
            team: None,
            available: Credits::new(10),
            config: &TeamConfig::default(),
        };
        let mut team = validate(&request, &facts, Timestamp::from_millis(0)).unwrap().apply();
        team.shared.handoff_notes.insert(enzo.id, "Rosa prefers short answers".into());
        team.shared.conversation_goal = Some("refund for order 1234".into());
        team.shared.customer_profile.insert("name".into(), "Rosa".into());
        team
    }

    /// G21, G24, G25, G60: all that the next agent must know, between the marks.
    #[test]
    fn g21_the_next_agent_is_told_everything() {
        let team = handed_over();
        insta::assert_snapshot!(section(&team, team.active()).unwrap(), @r"
        --- HANDOFF CONTEXT ---
        You were tagged in by a colleague.
        You were tagged in because: invoice discrepancy
        Context: Rosa paid 50, expected 40 for order 1234
        Suggested approach: check the invoice
        Note for you: Rosa prefers short answers
        Goal of the conversation: refund for order 1234
        Customer name: Rosa
        Continue helping the customer seamlessly.
        --- END HANDOFF CONTEXT ---
        ");
    }

    /// G23: a note for one agent is not shown to another.
    #[test]
    fn g23_notes_are_private() {
        let text = section(&handed_over(), AgentId::from_u128(99)).unwrap();
        assert!(!text.contains("short answers"), "{text}");
    }

    /// G22: no block while there is no shared context.
    #[test]
    fn g22_no_context_no_block() {
        let gia = testing::agent("gia", Subtype::CustomerService);
        let budget = TeamBudget::new(Credits::new(100), gia.id);
        let mut team = TeamSession::new(SessionId::from_u128(1), gia.org, gia.id, [], budget);
        assert_eq!(section(&team, gia.id), None);
        team.shared.summary = Some("  ".into());
        assert_eq!(section(&team, gia.id), None);
    }
}
