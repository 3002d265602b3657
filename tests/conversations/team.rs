//! Several agents in one session.

use std::time::Duration;

use ostler_domain::agent::Agent;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::contact::SenderProof;
use ostler_domain::id::{AgentId, BindingId, OrgId, ReservationId};
use ostler_domain::message::MessagePart;
use ostler_domain::money::Credits;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::Org;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::session::key::ConversationKey;
use ostler_domain::team::TeamAssemblyRefused;
use ostler_domain::team::config::{HandoffTargets, TeamConfig};
use ostler_runtime::operations::{Actor, OperationError};
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_runtime::records::entry::{InboxEntry, IncomingMessage, MessageSender};
use ostler_runtime::records::run::RunOutcome;
use ostler_runtime::records::session::Session;
use ostler_store::{NewReservation, SessionFilter};

use crate::support::{ENZO, GIA, ORG, Scenario, agent, text_of};

const TEAM: &str = "
price: { input: 3, output: 15 }
usage: { input: 2000, output: 1000 }
rules:
  - when: { user: invoice, agent: 'You are Gia' }
    answer:
      - call: tag_in_agent
        with: { targetAgentId: enzo, reason: invoice discrepancy,
                contextSummary: Rosa paid 50 and expected 40 }
      - 'Nobody else can help: {{ result }}'
  - when: { user: back, agent: 'You are Enzo' }
    answer:
      - call: tag_in_agent
        with: { targetAgentId: gia, reason: done, contextSummary: all is paid back }
      - 'I have to stay: {{ result }}'
  - when: { agent: { regex: 'You are Enzo[^~]*Rosa paid 50 and expected 40' }, user: invoice }
    answer: I see that you expected 40 instead of 50.
default: 'About {{ user }}: yes.'
";

async fn with_team(scenario: &Scenario, team: TeamConfig) {
    let settings = OrgSettings { team: Some(team), ..OrgSettings::default() };
    scenario.save_settings(&settings).await;
}

/// G10, G11, G13: a handoff is refused above the maximum, during the cooldown, and when
/// the matrix does not permit it.
#[tokio::test]
async fn handoff_validation() {
    let scenario = Scenario::new(TEAM).await;
    with_team(&scenario, TeamConfig { max_handoffs: 2, ..TeamConfig::default() }).await;
    scenario.say("rosa", "my invoice").await;
    // The cooldown: two minutes.
    scenario.advance(Duration::from_secs(30));
    let refused = scenario.say("rosa", "back please").await.remove(0);
    assert!(refused.starts_with("I have to stay") && refused.contains("90"), "{refused}");
    assert_eq!(scenario.session("rosa").await.active_agent(), Some(ENZO));
    scenario.advance(Duration::from_secs(91));
    scenario.say("rosa", "back now").await;
    assert_eq!(scenario.session("rosa").await.active_agent(), Some(GIA));
    // The cap.
    scenario.advance(Duration::from_secs(121));
    let refused = scenario.say("rosa", "the invoice again").await.remove(0);
    assert!(refused.starts_with("Nobody else can help") && refused.contains("human"), "{refused}");
    assert_eq!(scenario.session("rosa").await.team.unwrap().history().len(), 2);

    // The matrix.
    let scenario = Scenario::new(TEAM).await;
    let permissions = Some([(ENZO, HandoffTargets::Anyone)].into());
    with_team(&scenario, TeamConfig { permissions, ..TeamConfig::default() }).await;
    let refused = scenario.say("rosa", "my invoice").await.remove(0);
    assert!(refused.starts_with("Nobody else can help"), "{refused}");
    assert_eq!(scenario.session("rosa").await.team, None);
}

/// G02: an operator assigns a team; its first agent answers.
#[tokio::test]
async fn g02_an_operator_assigns_a_team() {
    let scenario = Scenario::new(TEAM).await;
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    assert!(matches!(operator.assign(id, &["nobody"]).await, Err(OperationError::NoAgent(_))));
    let none = operator.assign(id, &[]).await;
    assert!(matches!(none, Err(OperationError::Team(TeamAssemblyRefused::NoAgents))));
    operator.assign(id, &["enzo", "gia", "enzo"]).await.unwrap();
    scenario.work().await;
    let team = scenario.session("rosa").await.team.unwrap();
    assert_eq!((team.participants(), team.active()), (&[ENZO, GIA][..], ENZO));
    scenario.say("rosa", "the menu").await;
    assert_eq!(scenario.runs("rosa").await.pop().unwrap().turns[0].agent, ENZO);
}

/// G59, G60: the specialist keeps the conversation and has what the customer said before.
#[tokio::test]
async fn g59_g60_the_specialist_keeps_the_conversation_and_its_history() {
    let scenario = Scenario::new(TEAM).await;
    let heard = scenario.say("rosa", "my invoice").await;
    assert_eq!(heard, ["I see that you expected 40 instead of 50."]);
    for _ in 0..2 {
        scenario.advance(Duration::from_secs(60));
        scenario.say("rosa", "thanks for that").await;
        assert_eq!(scenario.runs("rosa").await.pop().unwrap().turns[0].agent, ENZO);
        scenario.advance(Duration::from_secs(1));
        scenario.say("rosa", "one more question").await;
    }
    scenario.advance(Duration::from_secs(121));
    scenario.say("rosa", "back to the first one").await;
    assert_eq!(scenario.session("rosa").await.active_agent(), Some(GIA));
}

/// G61: one read of the session shows the team and the person who has taken over.
#[tokio::test]
async fn g61_the_session_view_shows_team_and_human() {
    let scenario = Scenario::new(TEAM).await;
    scenario.say("rosa", "my invoice").await;
    let id = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.take_over(id).await.unwrap();
    let shown = operator.session(id).await.unwrap();
    let view = serde_json::to_value(shown.session.team_view().unwrap()).unwrap();
    assert_eq!(view["is_team_session"], true);
    assert_eq!(view["participating_agent_ids"], serde_json::json!([GIA, ENZO]));
    assert_eq!(view["active_agent_id"], serde_json::json!(ENZO));
    assert_eq!(view["handoff_history"][0]["reason"], "invoice discrepancy");
    assert_eq!(view["shared_context"], "Rosa paid 50 and expected 40");
    assert_eq!(view["human_escalation_requested"], true);
    assert_eq!(view["human_escalation_urgency"], "normal");
    for key in ["human_escalation_reason", "human_agent_user_id", "human_takeover_at"] {
        assert!(!view[key].is_null(), "{key}");
    }
}

/// G62: a session without a team works as before.
#[tokio::test]
async fn g62_a_session_without_a_team_still_works() {
    let scenario = Scenario::new(TEAM).await;
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    let data = scenario.org().session(id).await.unwrap().data;
    assert!(!data.contains("\"team\""), "{data}");
    assert_eq!(scenario.say("rosa", "the menu").await, ["About the menu: yes."]);
    assert_eq!(scenario.runs("rosa").await.pop().unwrap().outcome, RunOutcome::Answered);
}

/// G30: the owner is notified of each handoff, unless the org disables it.
#[tokio::test]
async fn g30_the_owner_is_notified_of_handoffs_unless_disabled() {
    for wanted in [true, false] {
        let scenario = Scenario::new(TEAM).await;
        let team = TeamConfig { notify_owner_on_handoff: wanted, ..TeamConfig::default() };
        with_team(&scenario, team).await;
        scenario.say("rosa", "my invoice").await;
        scenario.advance(Duration::from_secs(121));
        scenario.say("rosa", "back").await;
        let told = scenario.notices().await;
        let handoffs = told.iter().filter(|one| one.notice.kind == NoticeKind::Handoff).count();
        assert_eq!(handoffs, if wanted { 2 } else { 0 });
    }
}

/// G32: another process continues with the same team.
#[tokio::test]
async fn g32_a_restart_keeps_the_team() {
    let scenario = Scenario::new(TEAM).await;
    scenario.say("rosa", "my invoice").await;
    let before = scenario.session("rosa").await.team;
    let scenario = Scenario::attach(scenario.store.clone(), TEAM);
    scenario.say("rosa", "thanks again").await;
    let after = scenario.session("rosa").await.team;
    let spine = |team: &Option<ostler_domain::team::TeamSession>| {
        let team = team.as_ref().unwrap();
        (team.participants().to_vec(), team.active(), team.history().to_vec(), team.shared.clone())
    };
    assert_eq!(spine(&before), spine(&after));
    assert_eq!(scenario.runs("rosa").await.pop().unwrap().turns[0].agent, ENZO);
}

/// G29: agents of a team work one after the other.
#[tokio::test]
async fn g29_agents_of_a_team_work_one_after_the_other() {
    let scenario = Scenario::new(TEAM).await;
    scenario.say("rosa", "my invoice").await;
    let run = scenario.runs("rosa").await.remove(0);
    let model: Vec<_> = run.steps.iter().filter(|one| one.step == "8").collect();
    assert_eq!((run.turns.len(), model.len()), (2, 2));
    assert!(model[0].began_us + model[0].took_us <= model[1].began_us, "{model:?}");
}

/// E09, E10: the spending of each agent is counted, and both draw on one budget; when it
/// is used up, neither answers.
#[tokio::test]
async fn e09_e10_a_team_shares_its_budget() {
    let scenario = Scenario::new(TEAM).await;
    with_team(&scenario, TeamConfig { budget: Credits::new(8), ..TeamConfig::default() }).await;
    scenario.say("rosa", "my invoice").await;
    let spent = |runs: &[ostler_runtime::records::run::RunRecord], agent: AgentId| -> Credits {
        let turns = runs.iter().flat_map(|run| &run.turns).filter(|turn| turn.agent == agent);
        turns.flat_map(|turn| &turn.charges).map(|charge| charge.amount).sum()
    };
    let runs = scenario.runs("rosa").await;
    let team = scenario.session("rosa").await.team.unwrap();
    let (gia, enzo) = (spent(&runs, GIA), spent(&runs, ENZO));
    assert!(gia > Credits::ZERO && enzo > Credits::ZERO);
    assert_eq!(team.budget.per_agent, [(GIA, gia), (ENZO, enzo)].into());
    assert_eq!(team.budget.remaining(), Credits::new(8).saturating_sub(gia + enzo));
    for text in ["one thing", "another matter", "something else"] {
        scenario.say("rosa", text).await;
    }
    let outcomes: Vec<_> = scenario.runs("rosa").await.into_iter().map(|run| run.outcome).collect();
    assert!(outcomes.contains(&RunOutcome::CreditsExhausted), "{outcomes:?}");
    assert_eq!(outcomes.last(), Some(&RunOutcome::WaitingForHuman));
}

/// E07: without credits the customer is told, and the owner and both agents of the team
/// are notified once, however many messages follow.
#[tokio::test]
async fn e07_customer_owner_and_team_are_told_when_credits_are_exhausted() {
    let scenario = Scenario::new(TEAM).await;
    scenario.say("rosa", "my invoice").await;
    let amount = scenario.org().affordable().await.unwrap().unwrap();
    let id = ReservationId::from_u128(0x7e57);
    let ttl = Duration::from_secs(3600);
    let new = NewReservation { id, budget_owner: GIA, amount, ttl };
    scenario.org().reserve_credits(new).await.unwrap();
    scenario.write("rosa", "are you there").await;
    scenario.work().await;
    let sent = scenario.deliver().await;
    assert_eq!(sent.iter().map(text_of).filter(|text| text.contains("cannot answer")).count(), 1);
    scenario.say("rosa", "hello?").await;
    for recipient in
        [NoticeRecipient::Owner, NoticeRecipient::Agent(GIA), NoticeRecipient::Agent(ENZO)]
    {
        let told = scenario.org().unread_notices(recipient, None, 10).await.unwrap();
        let gone = told.iter().filter(|one| one.notice.kind == NoticeKind::CreditsExhausted);
        assert_eq!(gone.count(), 1, "{recipient:?}");
    }
}

/// Creates another org with the same two agents and its own settings.
async fn another_org(scenario: &Scenario) -> ConversationKey {
    const OTHER: OrgId = OrgId::from_u128(0x0c);
    let own = scenario.org().org().await.unwrap();
    let org = Org { id: OTHER, slug: "other".into(), ..own };
    scenario.store.create_org(org).await.unwrap();
    let other = scenario.store.org(OTHER);
    let pair = [
        agent(GIA, "gia", Subtype::CustomerService),
        agent(ENZO, "enzo", Subtype::from("billing_specialist")),
    ];
    for one in pair {
        other.save_agent(Agent { org: OTHER, ..one }).await.unwrap();
    }
    let id = BindingId::from_u128(0xd1);
    ostler_testkit::bind_channel(&other, id, Channel::Webchat, GIA).await;
    let settings = OrgSettings { team: Some(TeamConfig::default()), ..OrgSettings::default() };
    let data = serde_json::to_string(&settings).unwrap();
    other.create_record(SETTINGS, settings_record(OTHER), data).await.unwrap();
    ostler_testkit::customer_key(OTHER, id, "rosa")
}

/// G58: the settings of one org do not affect another.
#[tokio::test]
async fn g58_each_org_has_its_own_limits() {
    let scenario = Scenario::new(TEAM).await;
    let there = another_org(&scenario).await;
    with_team(&scenario, TeamConfig { max_handoffs: 0, ..TeamConfig::default() }).await;
    let org = there.org;
    let entry = InboxEntry::Message(IncomingMessage {
        parts: vec![MessagePart::text("my invoice")],
        from: MessageSender {
            identifier: "rosa".into(),
            name: None,
            locale: None,
            proof: SenderProof::Proven,
        },
        provider_id: None,
        ..IncomingMessage::default()
    });
    scenario.intake.accept(there, "there-1", &entry).await.unwrap();
    scenario.say("rosa", "my invoice").await;
    assert_eq!(scenario.session("rosa").await.active_agent(), Some(GIA), "no handoffs here");
    let stored = scenario.store.org(org).sessions(SessionFilter::All, None, 10).await.unwrap();
    let session: Session = serde_json::from_str(&stored[0].data).unwrap();
    assert_eq!(session.active_agent(), Some(ENZO), "five of them there");
}
