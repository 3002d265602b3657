use super::{
    HandoffRecord, TeamAssemblyRefused, TeamSession, effective_agent, group_order, team_view,
};
use crate::agent::subtype::Subtype;
use crate::agent::{Agent, AgentStatus};
use crate::human::escalation::{Escalation, EscalationEvent, EscalationRequest, Urgency};
use crate::id::{OrgId, SessionId, UserId};
use crate::money::Credits;
use crate::team::config::TeamConfig;
use crate::testing;
use crate::time::Timestamp;

const SESSION: SessionId = SessionId::from_u128(9);

fn gia() -> Agent {
    testing::agent("gia", Subtype::CustomerService)
}

fn enzo() -> Agent {
    testing::agent("enzo", Subtype::Other("billing".into()))
}

fn assemble(agents: &[&Agent]) -> Result<TeamSession, TeamAssemblyRefused> {
    TeamSession::assemble(SESSION, testing::client().id, agents, Credits::new(100))
}

/// G02, G05: duplicate participants are dropped, the first is active.
#[test]
fn g05_participants_are_deduplicated_and_the_first_is_active() {
    let (gia, enzo) = (gia(), enzo());
    let team = assemble(&[&gia, &enzo, &gia, &enzo]).unwrap();
    assert_eq!(team.participants(), [gia.id, enzo.id]);
    assert_eq!((team.active(), team.primary), (gia.id, gia.id));
    assert_eq!((team.id, team.org), (SESSION, testing::client().id));
}

/// G02, G06: all agents of a team are active and belong to one org.
#[test]
fn g06_team_agents_are_active_and_of_one_org() {
    let (gia, mut other) = (gia(), enzo());
    assert_eq!(assemble(&[]), Err(TeamAssemblyRefused::NoAgents));
    other.org = OrgId::from_u128(77);
    assert_eq!(assemble(&[&gia, &other]), Err(TeamAssemblyRefused::OtherOrg("enzo".into())));
    let paused = Agent { status: AgentStatus::Paused, ..enzo() };
    assert_eq!(assemble(&[&paused]), Err(TeamAssemblyRefused::NotActive("Enzo".into())));
}

/// G04: in a group the lowest priority number answers first.
#[test]
fn g04_the_agent_with_the_lowest_priority_number_answers_first() {
    let (gia, enzo) = (gia(), enzo());
    let order = group_order(&[(&gia, 20), (&enzo, 10)]);
    let team = assemble(&order).unwrap();
    assert_eq!(team.participants(), [enzo.id, gia.id]);
    assert_eq!(team.active(), enzo.id);
}

/// G07, G08, G59, G62: the active agent of a team answers every message, else the
/// session's own agent.
#[test]
fn g08_the_effective_agent_is_the_active_one() {
    let (gia, enzo) = (gia(), enzo());
    assert_eq!(effective_agent(enzo.id, None), enzo.id);
    let mut team = assemble(&[&enzo, &gia]).unwrap();
    assert_eq!(effective_agent(gia.id, Some(&team)), enzo.id);
    assert_eq!(effective_agent(gia.id, Some(&team)), enzo.id);
    team.active = gia.id;
    assert_eq!(effective_agent(gia.id, Some(&team)), gia.id);
    team.return_to_primary();
    assert_eq!(team.active(), enzo.id);
}

/// G26: the agent that was tagged in answers the same message; a hand-back by a human
/// is not a handoff.
#[test]
fn g26_the_next_agent_answers_the_same_message() {
    let (gia, enzo) = (gia(), enzo());
    let mut team = assemble(&[&gia, &enzo]).unwrap();
    assert_eq!(effective_agent(gia.id, Some(&team)), gia.id);
    team.active = enzo.id;
    team.history.push(HandoffRecord {
        from: gia.id,
        to: enzo.id,
        reason: "billing".into(),
        context_summary: String::new(),
        suggested_approach: None,
        at: Timestamp::from_millis(0),
    });
    assert_eq!(effective_agent(gia.id, Some(&team)), enzo.id);
    team.return_to_primary();
    assert_eq!(effective_agent(enzo.id, Some(&team)), gia.id);
    assert_eq!(team.history().len(), 1);
}

/// A24, G61, G62: the view has all ten fields, with and without a team.
#[test]
fn g61_the_view_has_all_team_fields() {
    let (gia, enzo) = (gia(), enzo());
    let mut team = assemble(&[&gia, &enzo]).unwrap();
    team.shared.summary = Some("order 1234".into());
    let request = EscalationRequest {
        reason: "asked for a person".into(),
        urgency: Urgency::Normal,
        context_summary: String::new(),
    };
    let (config, opal) = (TeamConfig::default(), UserId::from_u128(5));
    let (mut escalation, _) =
        Escalation::begin(None, request, &config, Timestamp::from_millis(1)).unwrap();
    escalation.apply(&EscalationEvent::TakeOver(opal), &config, Timestamp::from_millis(2)).unwrap();
    let seen = serde_json::to_value(team_view(gia.id, Some(&team), Some(&escalation))).unwrap();
    let expected = serde_json::json!({
        "is_team_session": true,
        "participating_agent_ids": [gia.id, enzo.id],
        "active_agent_id": gia.id,
        "handoff_history": [],
        "shared_context": "order 1234",
        "human_escalation_requested": true,
        "human_escalation_reason": "asked for a person",
        "human_escalation_urgency": "normal",
        "human_agent_user_id": opal,
        "human_takeover_at": 2,
    });
    assert_eq!(seen, expected);
    let alone = team_view(gia.id, None, None);
    assert_eq!((alone.is_team_session, alone.active_agent_id), (false, gia.id));
    assert!(!alone.human_escalation_requested);
}
