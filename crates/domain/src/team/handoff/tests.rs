use std::time::Duration;

use super::{
    ConsultRefused, HandoffFacts, HandoffRefused, HandoffRequest, ValidHandoff, may_consult,
    transition_message, validate,
};
use crate::agent::subtype::Subtype;
use crate::agent::{Agent, AgentKind, AgentStatus};
use crate::id::{AgentId, OrgId, SessionId};
use crate::money::Credits;
use crate::session::status::SessionStatus;
use crate::team::config::{HandoffTargets, TeamConfig};
use crate::team::{HandoffRecord, TeamSession};
use crate::testing;
use crate::time::Timestamp;

const SESSION: SessionId = SessionId::from_u128(9);

struct Scene {
    gia: Agent,
    enzo: Agent,
    team: Option<TeamSession>,
    config: TeamConfig,
    available: Credits,
    status: SessionStatus,
}

fn scene() -> Scene {
    Scene {
        gia: testing::agent("gia", Subtype::CustomerService),
        enzo: testing::agent("enzo", Subtype::Other("billing".into())),
        team: None,
        config: TeamConfig::default(),
        available: Credits::new(10),
        status: SessionStatus::Active,
    }
}

fn request() -> HandoffRequest {
    HandoffRequest {
        reason: "invoice discrepancy".into(),
        context_summary: "Rosa paid 50, expected 40".into(),
        suggested_approach: Some("check the invoice".into()),
    }
}

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(0) + Duration::from_secs(secs)
}

impl Scene {
    fn facts<'a>(&'a self, from: &Agent, target: Option<&'a Agent>) -> HandoffFacts<'a> {
        HandoffFacts {
            session: SESSION,
            org: self.gia.org,
            from: from.id,
            target,
            team: self.team.as_ref(),
            status: self.status,
            available: self.available,
            config: &self.config,
        }
    }

    /// Gia hands over to Enzo.
    fn hand_over(&self, secs: u64) -> Result<ValidHandoff, HandoffRefused> {
        validate(&request(), &self.facts(&self.gia, Some(&self.enzo)), at(secs))
    }

    /// Hands over, forth and back in turn, and keeps the result.
    fn ping_pong(&mut self, secs: u64) -> Result<(), HandoffRefused> {
        let enzo_is_active = self.team.as_ref().is_some_and(|team| team.active() == self.enzo.id);
        let (from, to) =
            if enzo_is_active { (&self.enzo, &self.gia) } else { (&self.gia, &self.enzo) };
        let handoff = validate(&request(), &self.facts(from, Some(to)), at(secs))?;
        handoff.apply(&mut self.team);
        Ok(())
    }
}

/// G01, G05, G16-G19: what a handoff changes.
#[test]
fn g16_to_g19_a_handoff_switches_the_agent_and_keeps_the_record() {
    let scene = scene();
    let mut team = None;
    scene.hand_over(5).unwrap().apply(&mut team);
    let team = team.unwrap();
    assert_eq!(team.participants(), [scene.gia.id, scene.enzo.id]);
    assert_eq!(team.active(), scene.enzo.id);
    assert_eq!(team.primary, scene.gia.id);
    assert_eq!(team.shared.summary.as_deref(), Some("Rosa paid 50, expected 40"));
    let record = HandoffRecord {
        from: scene.gia.id,
        to: scene.enzo.id,
        reason: "invoice discrepancy".into(),
        context_summary: "Rosa paid 50, expected 40".into(),
        suggested_approach: Some("check the invoice".into()),
        at: at(5),
    };
    assert_eq!(team.history(), [record]);
}

/// G06, G09, G14: the target must be another, active agent of the same org.
#[test]
fn g06_g09_g14_the_target_is_checked() {
    let check = |change: fn(&mut Agent), expected: HandoffRefused| {
        let mut scene = scene();
        change(&mut scene.enzo);
        assert_eq!(scene.hand_over(0), Err(expected));
    };
    let not_active = || HandoffRefused::NotActive { name: "Enzo".into() };
    check(|enzo| enzo.org = OrgId::from_u128(77), HandoffRefused::NoSuchAgent);
    check(|enzo| enzo.status = AgentStatus::Paused, not_active());
    check(|enzo| enzo.status = AgentStatus::Archived, not_active());
    check(|enzo| enzo.kind = AgentKind::Template, not_active());
    let scene = scene();
    let unknown = validate(&request(), &scene.facts(&scene.gia, None), at(0));
    assert_eq!(unknown, Err(HandoffRefused::NoSuchAgent));
    let own = validate(&request(), &scene.facts(&scene.gia, Some(&scene.gia)), at(0));
    assert_eq!(own, Err(HandoffRefused::ToItself));
}

/// G08: only the agent that has the conversation can hand it over.
#[test]
fn g08_only_the_active_agent_can_hand_over() {
    let mut scene = scene();
    scene.ping_pong(0).unwrap();
    assert_eq!(scene.hand_over(500), Err(HandoffRefused::NotYours));
}

/// G34: once a human has been asked for, no agent hands the conversation over.
#[test]
fn g34_no_handoff_while_a_human_has_it() {
    let mut scene = scene();
    scene.status = SessionStatus::HandedOff;
    assert_eq!(scene.hand_over(0), Err(HandoffRefused::WithHuman));
}

/// G17, G60: a handoff without a summary keeps the previous summary.
#[test]
fn g17_an_empty_summary_keeps_the_previous_one() {
    let scene = scene();
    let silent = HandoffRequest { context_summary: " ".into(), ..request() };
    let facts = scene.facts(&scene.gia, Some(&scene.enzo));
    let mut team = None;
    validate(&silent, &facts, at(0)).unwrap().apply(&mut team);
    assert_eq!(team.as_ref().unwrap().shared.summary.as_deref(), Some("invoice discrepancy"));
    let back = HandoffFacts { from: scene.enzo.id, target: Some(&scene.gia), ..facts };
    validate(&silent, &HandoffFacts { team: team.clone().as_ref(), ..back }, at(500))
        .unwrap()
        .apply(&mut team);
    assert_eq!(team.unwrap().shared.summary.as_deref(), Some("invoice discrepancy"));
}

/// G20: the text that accompanies the call is a transition message.
#[test]
fn g20_text_with_the_call_is_a_transition_message() {
    let text = " Let me connect you with our billing specialist. ";
    assert_eq!(transition_message(text), Some(text.trim()));
    assert_eq!(transition_message("  \n"), None);
}

/// G10, G27: five handoffs, back and forth; the sixth is refused with a hint to
/// escalate.
#[test]
fn g10_g27_a_sixth_handoff_is_refused() {
    let mut scene = scene();
    for n in 0..5 {
        scene.ping_pong(n * 120).unwrap();
    }
    let refused = scene.ping_pong(5 * 120).unwrap_err();
    assert_eq!(refused, HandoffRefused::CapReached { count: 5 });
    assert!(refused.to_string().contains("use escalate_to_human"), "{refused}");
    let team = scene.team.unwrap();
    assert_eq!(team.participants(), [scene.gia.id, scene.enzo.id]);
    let order: Vec<AgentId> = team.history().iter().map(|record| record.to).collect();
    let (gia, enzo) = (scene.gia.id, scene.enzo.id);
    assert_eq!(order, [enzo, gia, enzo, gia, enzo]);
}

/// G11: two minutes between handoffs; the refusal says how long is left.
#[test]
fn g11_the_cooldown_refusal_has_the_remaining_seconds() {
    let mut scene = scene();
    scene.ping_pong(1000).unwrap();
    for (secs, remaining_secs) in [(1000, 120), (1060, 60), (1119, 1)] {
        let refused = scene.ping_pong(secs);
        assert_eq!(refused, Err(HandoffRefused::Cooldown { remaining_secs }));
    }
    assert_eq!(scene.ping_pong(1120), Ok(()));
}

/// G12: the target must be able to pay for one message.
#[test]
fn g12_a_handoff_needs_credits_for_the_target() {
    let mut scene = scene();
    scene.available = Credits::ZERO;
    let refused = Err(HandoffRefused::NoCredits { available: Credits::ZERO });
    assert_eq!(scene.hand_over(0), refused);
    scene.available = Credits::new(1);
    scene.ping_pong(0).unwrap();
    let spender = scene.gia.id;
    scene.team.as_mut().unwrap().budget.spend(spender, Credits::new(100)).unwrap();
    assert_eq!(scene.ping_pong(500), Err(HandoffRefused::NoCredits { available: Credits::ZERO }));
}

/// G13: the permission matrix of the org.
#[test]
fn g13_a_handoff_outside_the_matrix_is_refused() {
    let mut scene = scene();
    scene.config.permissions = Some([(scene.enzo.id, HandoffTargets::Anyone)].into());
    assert_eq!(scene.hand_over(0), Err(HandoffRefused::NotPermitted { name: "Enzo".into() }));
    scene.config.permissions = Some([(scene.gia.id, HandoffTargets::Anyone)].into());
    assert!(scene.hand_over(0).is_ok());
}

/// G15: a reason, unless the org does not require one.
#[test]
fn g15_a_reason_is_required_by_default() {
    let mut scene = scene();
    let silent = HandoffRequest { reason: "  ".into(), ..request() };
    let refused = validate(&silent, &scene.facts(&scene.gia, Some(&scene.enzo)), at(0));
    assert_eq!(refused, Err(HandoffRefused::NoReason));
    scene.config.require_handoff_reason = false;
    assert!(validate(&silent, &scene.facts(&scene.gia, Some(&scene.enzo)), at(0)).is_ok());
}

/// G24, G25: profile and goal survive a handoff.
#[test]
fn g25_the_goal_stays_until_it_is_changed() {
    let mut scene = scene();
    scene.ping_pong(0).unwrap();
    let team = scene.team.as_mut().unwrap();
    team.shared.conversation_goal = Some("refund for order 1234".into());
    team.shared.customer_profile.insert("name".into(), "Rosa".into());
    scene.ping_pong(200).unwrap();
    let shared = &scene.team.unwrap().shared;
    assert_eq!(shared.conversation_goal.as_deref(), Some("refund for order 1234"));
    assert_eq!(shared.customer_profile["name"], "Rosa");
}

/// G30: the owner is notified of each handoff unless the org has switched it off.
#[test]
fn g30_the_owner_is_notified() {
    let mut scene = scene();
    assert!(scene.hand_over(0).unwrap().notify_owner);
    scene.config.notify_owner_on_handoff = false;
    assert!(!scene.hand_over(0).unwrap().notify_owner);
}

/// G32: a team survives serialization.
#[test]
fn g32_a_team_survives_serialization() {
    let mut scene = scene();
    scene.ping_pong(0).unwrap();
    let team = scene.team.unwrap();
    let stored = serde_json::to_string(&team).unwrap();
    assert_eq!(serde_json::from_str::<TeamSession>(&stored).unwrap(), team);
}

/// G29: only the agent that has the conversation may consult a colleague, only a
/// participant of its team, and only if the org allows parallel agents.
#[test]
fn g29_only_participants_of_a_parallel_team_may_be_consulted() {
    let check = |change: fn(&mut Scene), expected: Result<(), ConsultRefused>| {
        let mut scene = scene();
        scene.config.allow_parallel_execution = true;
        let (org, both) = (scene.gia.org, [&scene.gia, &scene.enzo]);
        let team = TeamSession::assemble(SESSION, org, &both, Credits::new(100));
        scene.team = team.ok();
        change(&mut scene);
        assert_eq!(may_consult(&scene.facts(&scene.gia, Some(&scene.enzo))), expected);
    };
    let enzo = || scene().enzo.display_name;
    let alone = Err(ConsultRefused::NotAParticipant { name: enzo() });
    check(|_| {}, Ok(()));
    check(|scene| scene.config.allow_parallel_execution = false, Err(ConsultRefused::OneAtATime));
    check(|scene| scene.team = None, alone.clone());
    check(|scene| scene.enzo.id = AgentId::from_u128(77), alone);
    let not_yours = Err(HandoffRefused::NotYours.into());
    check(|scene| scene.team.as_mut().unwrap().active = scene.enzo.id, not_yours);
    let with_human = Err(HandoffRefused::WithHuman.into());
    check(|scene| scene.status = SessionStatus::HandedOff, with_human);
    let poor = HandoffRefused::NoCredits { available: Credits::ZERO };
    check(|scene| scene.available = Credits::ZERO, Err(poor.into()));
    let refused = Err(HandoffRefused::NotPermitted { name: enzo() }.into());
    check(|scene| scene.config.permissions = Some([].into()), refused);
    let elsewhere = Err(HandoffRefused::NoSuchAgent.into());
    check(|scene| scene.enzo.org = OrgId::from_u128(99), elsewhere);
}
