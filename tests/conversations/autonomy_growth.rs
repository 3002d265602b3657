//! Autonomy levels are proposed from measured figures, and the owner decides.

use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::autonomy::TrackRecord;
use ostler_domain::audit::AuditActor;
use ostler_domain::id::UserId;
use ostler_domain::message::MessagePart;
use ostler_domain::notice::NoticeKind;
use ostler_domain::org::role::Role;
use ostler_runtime::operations::Actor;

use crate::support::{ECHO, GIA, ORG, OWNER, Scenario, scenario};

const ADMIN: UserId = UserId::from_u128(0x0ad);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A supervised agent of layer 4 with `count` finished conversations.
async fn with_conversations(count: usize) -> Scenario {
    let (scenario, _) = scenario(ECHO).await;
    scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Supervised).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 1000).await;
    let operations = scenario.operations();
    for n in 0..count {
        let person = format!("person{n}");
        scenario.say(&person, "hello").await;
        let session = scenario.session(&person).await.id;
        operations.as_actor(Actor::Terminal, ORG).close(session).await.unwrap();
    }
    scenario
}

/// D12: 50 good conversations propose a promotion, once and with a notice; only the owner
/// approves it, and both levels are in the audit log.
#[tokio::test]
async fn d12_a_promotion_is_proposed_from_figures_and_approved_by_the_owner() {
    let scenario = with_conversations(49).await;
    scenario.add_member(OWNER, Role::Owner).await;
    scenario.add_member(ADMIN, Role::Admin).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    owner.review_levels().await.unwrap();
    assert_eq!(owner.level_proposals().await.unwrap(), []);
    // The 50th conversation was taken over by a person after the first answer.
    scenario.say("last", "hello").await;
    let session = scenario.session("last").await.id;
    owner.take_over(session).await.unwrap();
    owner.say(session, vec![MessagePart::text("I will do that.")]).await.unwrap();
    owner.close(session).await.unwrap();
    let figures = owner.review_levels().await.unwrap();
    let of_gia = figures.iter().find(|(agent, _)| *agent == GIA).unwrap().1;
    assert_eq!((of_gia.conversations, of_gia.corrected), (50, 1), "{of_gia:?}");
    owner.review_levels().await.unwrap();
    let waiting = owner.level_proposals().await.unwrap();
    assert_eq!(waiting.len(), 1);
    let (from, to) = (AutonomyLevel::Supervised, AutonomyLevel::SemiAutonomous);
    assert_eq!((waiting[0].agent, waiting[0].from, waiting[0].to), (GIA, from, to));
    let notices = scenario.notices().await;
    let count = |kind| notices.iter().filter(|one| one.notice.kind == kind).count();
    assert_eq!(count(NoticeKind::LevelProposal), 1);
    assert_eq!(scenario.org().agent(GIA).await.unwrap().autonomy, from, "nothing by itself");

    let admin = operations.as_actor(Actor::User(ADMIN), ORG);
    let refused = admin.approve_level("gia").await.unwrap_err().to_string();
    assert!(refused.ends_with("only an owner may"), "{refused}");
    owner.approve_level("gia").await.unwrap();
    assert_eq!(scenario.org().agent(GIA).await.unwrap().autonomy, to);
    let about = GIA.to_string();
    let entries = scenario.org().audit_entries(Some(&about), None, 9).await.unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].entry.actor, AuditActor::User(OWNER));
    let data: serde_json::Value = serde_json::from_str(&entries[0].entry.data).unwrap();
    assert_eq!(data["before"]["autonomy"], "supervised");
    assert_eq!(data["after"]["autonomy"], "semi_autonomous");
    assert!(owner.approve_level("gia").await.is_err(), "it is decided");
}

/// D12: the sweep reviews levels once a day; a rejected level is not proposed again.
#[tokio::test]
async fn d12_the_sweep_reviews_levels_daily_and_respects_a_rejection() {
    let scenario = with_conversations(50).await;
    let sweeper = ostler_runtime::operations::sweep::Sweeper::for_worker(
        &scenario.worker,
        Duration::from_secs(900),
    );
    assert_eq!(sweeper.sweep_once().await.unwrap().reviewed, 0);
    scenario.advance(DAY);
    assert!(sweeper.sweep_once().await.unwrap().reviewed > 0);
    assert_eq!(sweeper.sweep_once().await.unwrap().reviewed, 0);
    let operations = scenario.operations();
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    assert_eq!(terminal.level_proposals().await.unwrap().len(), 1);
    terminal.reject_level("gia", "after the season").await.unwrap();
    scenario.advance(DAY);
    assert!(sweeper.sweep_once().await.unwrap().reviewed > 0);
    assert_eq!(terminal.level_proposals().await.unwrap(), []);
    assert_eq!(scenario.org().agent(GIA).await.unwrap().autonomy, AutonomyLevel::Supervised);
    let nothing = TrackRecord::default();
    let figures = terminal.review_levels().await.unwrap();
    assert!(figures.iter().any(|(agent, record)| *agent != GIA && *record == nothing));
}
