//! Prompt sections of a team session: the handoff context and what agents share.

use std::fmt::Write as _;

use crate::id::AgentId;
use crate::team::TeamSession;

/// Returns the handoff context for the agent that was tagged in, or `None` for other
/// agents and before the first handoff.
pub fn block(team: &TeamSession, agent: AgentId) -> Option<String> {
    let summary = team.shared.summary.as_deref().filter(|text| !text.trim().is_empty())?;
    let last = team.history().last().filter(|last| last.to == agent)?;
    let mut text = String::from("--- HANDOFF CONTEXT ---\nYou were tagged in by a colleague.\n");
    let _ = writeln!(text, "You were tagged in because: {}", last.reason);
    let _ = writeln!(text, "Context: {summary}");
    if let Some(approach) = &last.suggested_approach {
        let _ = writeln!(text, "Suggested approach: {approach}");
    }
    if let Some(note) = team.shared.handoff_notes.get(&agent) {
        let _ = writeln!(text, "Note for you: {note}");
    }
    text.push_str("Continue helping the customer seamlessly.\n--- END HANDOFF CONTEXT ---");
    Some(text)
}

/// Returns what all agents of a team share, whichever of them answers.
pub fn shared(team: &TeamSession) -> Option<String> {
    let goal = team.shared.conversation_goal.iter().map(|goal| format!("Goal: {goal}"));
    let profile = &team.shared.customer_profile;
    let profile = profile.iter().map(|(name, value)| format!("Customer {name}: {value}"));
    let lines: Vec<String> = goal.chain(profile).collect();
    (!lines.is_empty()).then(|| format!("## Shared with your colleagues\n\n{}", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::{block, shared};
    use crate::agent::subtype::Subtype;
    use crate::id::SessionId;
    use crate::money::Credits;
    use crate::session::status::SessionStatus;
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
            status: SessionStatus::Active,
            available: Credits::new(10),
            config: &TeamConfig::default(),
        };
        let mut team = None;
        validate(&request, &facts, Timestamp::from_millis(0)).unwrap().apply(&mut team);
        let mut team = team.unwrap();
        team.shared.handoff_notes.insert(enzo.id, "Rosa prefers short answers".into());
        team.shared.conversation_goal = Some("refund for order 1234".into());
        team.shared.customer_profile.insert("name".into(), "Rosa".into());
        team
    }

    /// G21, G60: the block has everything that the next agent must know.
    #[test]
    fn g21_the_handoff_block_has_the_whole_context() {
        let team = handed_over();
        insta::assert_snapshot!(block(&team, team.active()).unwrap(), @r"
        --- HANDOFF CONTEXT ---
        You were tagged in by a colleague.
        You were tagged in because: invoice discrepancy
        Context: Rosa paid 50, expected 40 for order 1234
        Suggested approach: check the invoice
        Note for you: Rosa prefers short answers
        Continue helping the customer seamlessly.
        --- END HANDOFF CONTEXT ---
        ");
    }

    /// G24, G25: goal and profile are in the prompt of every participant.
    #[test]
    fn g24_g25_goal_and_profile_are_shared() {
        insta::assert_snapshot!(shared(&handed_over()).unwrap(), @r"
        ## Shared with your colleagues

        Goal: refund for order 1234
        Customer name: Rosa
        ");
    }

    /// G21, G23: only the agent that was tagged in gets the block, without notes for others.
    #[test]
    fn g23_handoff_notes_are_private() {
        let mut team = handed_over();
        let gia = testing::agent("gia", Subtype::CustomerService);
        team.shared.handoff_notes.insert(gia.id, "Rosa owes us 3.00".into());
        let block_of_enzo = block(&team, team.active()).unwrap();
        assert!(block_of_enzo.contains("short answers"), "{block_of_enzo}");
        assert!(!block_of_enzo.contains("owes"), "{block_of_enzo}");
        assert_eq!(block(&team, gia.id), None);
        let shared = shared(&team).unwrap();
        assert!(!shared.contains("short answers") && !shared.contains("owes"), "{shared}");
    }

    /// G22: no block while there is no shared context.
    #[test]
    fn g22_there_is_no_block_without_shared_context() {
        let gia = testing::agent("gia", Subtype::CustomerService);
        let (id, budget) = (SessionId::from_u128(1), Credits::new(100));
        let assigned = TeamSession::assemble(id, gia.org, &[&gia], budget).unwrap();
        assert_eq!(block(&assigned, gia.id), None);
        assert_eq!(shared(&assigned), None);
        let mut silent = handed_over();
        silent.shared.summary = Some("  ".into());
        assert_eq!(block(&silent, silent.active()), None);
    }
}
