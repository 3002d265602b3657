//! Operations of members and operators.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::audit;
use ostler_domain::id::{KeyId, OrgId, UserId};
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::notice::NoticeKind;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::tool::catalogue::built_in;
use ostler_domain::tool::{Reach, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::{Actor, OperationError};
use ostler_store::{NewGrant, OutboxDelivery, SessionFilter};
use ostler_testkit::{TestDatabase, claim_send};

use crate::support::{ECHO, ENZO, ORG, OWNER, Scenario, agent, org};

const VIEWER: UserId = UserId::from_u128(0x21);
const STRANGER: UserId = UserId::from_u128(0x22);

fn forbidden<T>(result: &Result<T, OperationError>) -> bool {
    matches!(result, Err(OperationError::Forbidden { .. }))
}

fn gift() -> NewGrant {
    let (reference, amount) = ("gift-1".to_owned(), Credits::new(10));
    NewGrant { reference, pool: PoolKind::Purchased, amount }
}

/// Members can do what their role allows, and the audit log has the denied and the done.
#[tokio::test]
async fn a_role_decides_what_a_member_may_do() {
    let scenario = Scenario::new(ECHO).await;
    scenario.add_member(OWNER, Role::Owner).await;
    scenario.add_member(VIEWER, Role::Viewer).await;
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    let key = |role| Actor::Key { id: KeyId::from_u128(9), org: ORG, role };
    let other =
        Actor::Key { id: KeyId::from_u128(8), org: OrgId::from_u128(99), role: Role::Owner };
    // Viewing, working, configuring.
    let table = [
        (Actor::User(OWNER), true, true, true),
        (Actor::User(VIEWER), true, false, false),
        (Actor::User(STRANGER), false, false, false),
        (key(Role::Operator), true, true, false),
        (key(Role::Viewer), true, false, false),
        (other, false, false, false),
        (Actor::Terminal, true, true, true),
    ];
    for (actor, looks, works, sets_up) in table {
        let operator = operations.as_actor(actor, ORG);
        let looked = operator.sessions(SessionFilter::All, None, 10).await;
        assert_eq!(!forbidden(&looked), looks, "{actor:?}");
        let took = operator.take_over(id).await;
        assert_eq!(!forbidden(&took), works, "{actor:?}");
        if works {
            operator.resume(id).await.unwrap();
        }
        let added = operator.add_document("Hours", "We open at six.", &["public"]).await;
        assert_eq!(!forbidden(&added), sets_up, "{actor:?}");
        let granted = operator.grant_credits(gift()).await;
        assert_eq!(forbidden(&granted), actor != Actor::Terminal, "{actor:?}");
    }
    let actors: BTreeSet<_> = scenario
        .org()
        .audit_entries(None, None, 100)
        .await
        .unwrap()
        .iter()
        .map(|one| one.entry.actor)
        .collect();
    let expected = [
        audit::AuditActor::User(OWNER),
        audit::AuditActor::Key(KeyId::from_u128(9)),
        audit::AuditActor::Terminal,
    ];
    assert_eq!(actors, expected.into());
}

/// Members of an agency work in the inboxes of its sub-orgs and configure nothing there;
/// members of a sub-org have no access to the agency.
#[tokio::test]
async fn members_of_an_agency_work_in_sub_orgs_but_do_not_configure_them() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let scenario = Scenario::in_store(store, ECHO).await;
    scenario.add_member(OWNER, Role::Owner).await;
    let client = OrgId::from_u128(0xc1);
    let org = org(client, "client", OrgPlace::SubOrg { parent: ORG }, LicencePlan::Free);
    scenario.store.create_org(org).await.unwrap();
    let operations = scenario.operations();
    let below = operations.as_actor(Actor::User(OWNER), client);
    assert!(below.sessions(SessionFilter::All, None, 10).await.unwrap().is_empty());
    assert!(forbidden(&below.add_document("Hours", "Six.", &[]).await));
    scenario.store.org(client).set_member(OWNER, Role::Owner).await.unwrap();
    assert!(!forbidden(&below.add_document("Hours", "Six.", &[]).await));
    let key = Actor::Key { id: KeyId::from_u128(7), org: client, role: Role::Owner };
    let above = operations.as_actor(key, ORG);
    assert!(forbidden(&above.sessions(SessionFilter::All, None, 10).await));
}

/// A session detail has messages and runs in order, each run with the decisions of its
/// turns.
#[tokio::test]
async fn a_session_detail_has_messages_and_runs_in_order() {
    let scenario = Scenario::new(
        "
rules:
  - when: { user: products }
    answer: [{ call: list_products }, Nothing today.]
default: Hello there.
",
    )
    .await;
    scenario.say("rosa", "hello").await;
    scenario.say("rosa", "which products").await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    let listed = operator.sessions(SessionFilter::All, None, 10).await.unwrap();
    let shown = operator.session(listed[0].id).await.unwrap();
    let said: Vec<String> = shown.messages.iter().map(|one| one.text().into_owned()).collect();
    assert_eq!(said, ["hello", "Hello there.", "which products", "Nothing today."]);
    assert_eq!(shown.runs.len(), 2);
    assert_eq!(shown.runs[1].turns[0].decisions[0].tool, "list_products");
    let missing = operator.session(ostler_domain::id::SessionId::from_u128(5)).await.unwrap_err();
    assert_eq!(missing.to_string(), "no such session here");
}

/// Credits are granted, documents added and removed, notices read.
#[tokio::test]
async fn credits_knowledge_and_notices_can_be_managed() {
    let scenario = Scenario::new(ECHO).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    let before = operator.credits().await.unwrap().pool(PoolKind::Purchased).available;
    operator.grant_credits(gift()).await.unwrap();
    operator.grant_credits(gift()).await.unwrap();
    let after = operator.credits().await.unwrap().pool(PoolKind::Purchased).available;
    assert_eq!(after, before + Credits::new(10), "a repeat grants nothing");
    assert!(operator.ledger(None, 10).await.unwrap().iter().any(|one| {
        one.reference.as_deref() == Some("gift-1") && one.amount == Credits::new(10)
    }));

    let id = operator.add_document("Hours", "We open at six.", &["public"]).await.unwrap();
    let all = operator.documents(&BTreeSet::new(), None, 10).await.unwrap();
    assert_eq!((all.len(), all[0].id), (1, id));
    operator.remove_document(id).await.unwrap();
    assert!(operator.documents(&BTreeSet::new(), None, 10).await.unwrap().is_empty());
    assert!(matches!(operator.add_document(" ", "x", &[]).await, Err(OperationError::Document(_))));

    scenario.say("rosa", "talk to a human").await;
    let unread = operator.unread_notices(None, 10).await.unwrap();
    assert_eq!(unread.len(), 1);
    operator.acknowledge_notice(unread[0].notice.id).await.unwrap();
    assert!(operator.unread_notices(None, 10).await.unwrap().is_empty());
}

/// A dead letter is replayed or discarded; the owner is notified.
#[tokio::test]
async fn dead_letters_are_replayed_or_discarded() {
    let scenario = Scenario::new(ECHO).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    for who in ["rosa", "otto"] {
        scenario.write(who, "hello").await;
        scenario.work().await;
        let row = claim_send(&scenario.store, std::time::Duration::from_secs(10)).await;
        let row = row.unwrap();
        scenario.org().record_delivery(&row, OutboxDelivery::Dead("blocked".into())).await.unwrap();
    }
    let dead = operator.dead_letters(None, 10).await.unwrap();
    assert_eq!(dead.len(), 2);
    operator.replay_dead_letter(dead[0].id).await.unwrap();
    assert_eq!(scenario.deliver().await.len(), 1);
    assert!(matches!(
        operator.abandon_dead_letter(dead[1].id, "").await,
        Err(OperationError::Empty(_))
    ));
    operator.abandon_dead_letter(dead[1].id, "the number is gone").await.unwrap();
    assert!(operator.dead_letters(None, 10).await.unwrap().is_empty());
    let told = scenario.notices().await;
    assert_eq!(told[0].notice.kind, NoticeKind::DeadLetterAbandoned);
    assert!(told[0].notice.data.contains("the number is gone"));
    let actions: Vec<_> = scenario.org().audit_entries(None, None, 10).await.unwrap();
    let actions: Vec<_> = actions.iter().map(|one| one.entry.action.as_str()).collect();
    assert_eq!(actions, ["abandon_dead_letter", "replay_dead_letter"]);
}

/// A tool whose calls have an unknown outcome.
struct UnknownOutcomeTool(ToolDefinition);

impl Tool for UnknownOutcomeTool {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        let outcome =
            ToolOutcome::new(OutcomeStatus::OutcomeUnknown, "the connection was cut".to_owned());
        std::future::ready(ToolReply::Done(outcome)).boxed()
    }
}

const PAYS: &str = "
rules:
  - when: { user: order }
    answer: [{ call: create_contact, with: { name: Rosa } }, I do not know yet.]
  - when: { user: 'known now' }
    answer: Good news, it went through.
default: 'About {{ user }}: yes.'
";

/// Z09, F01: a call has an unknown outcome. The session waits, and continues when an
/// operator resolves it.
#[tokio::test]
async fn z09_an_operator_resolves_an_unknown_outcome() {
    let scenario = scenario_with_unknown_outcome().await;
    scenario.say("rosa", "order this").await;
    let session = scenario.session("rosa").await;
    assert_eq!(session.unknown_outcomes, 1);
    scenario.advance(std::time::Duration::from_secs(30 * 24 * 3600));
    assert_eq!(scenario.sweep().await.sessions, 0, "the clocks stand still");
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    let unknown = operator.unknown_calls(None, 10).await.unwrap();
    assert_eq!(unknown.len(), 1);
    let call = unknown[0].intent.call;
    assert!(matches!(operator.resolve_unknown(call, " ").await, Err(OperationError::Empty(_))));
    operator.resolve_unknown(call, "it went through").await.unwrap();
    scenario.work().await;
    let sent = scenario.deliver().await;
    let heard: Vec<String> = sent.iter().map(crate::support::text_of).collect();
    assert_eq!(heard, ["Good news, it went through."]);
    let after = scenario.session("rosa").await;
    assert_eq!((after.id, after.unknown_outcomes), (session.id, 0));
    assert!(operator.unknown_calls(None, 10).await.unwrap().is_empty());
}

/// Z09: an outcome that is resolved while a person has the conversation reaches the agent
/// when it has the conversation again.
#[tokio::test]
async fn z09_an_outcome_resolved_during_a_takeover_reaches_the_agent() {
    let scenario = scenario_with_unknown_outcome().await;
    scenario.say("rosa", "order this").await;
    let session = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.take_over(session).await.unwrap();
    let call = operator.unknown_calls(None, 10).await.unwrap()[0].intent.call;
    operator.resolve_unknown(call, "it went through").await.unwrap();
    scenario.work().await;
    assert!(scenario.deliver().await.is_empty(), "the person speaks");
    operator.resume(session).await.unwrap();
    let resolution = scenario.session("rosa").await.resolution.unwrap();
    assert!(resolution.contains("is known now: it went through"), "{resolution}");
}

/// Returns a scenario with a tool whose calls have an unknown outcome.
pub(crate) async fn scenario_with_unknown_outcome() -> Scenario {
    let store = TestDatabase::sqlite_memory().migrated().await;
    drop(Scenario::in_store(store.clone(), PAYS).await);
    let spec = built_in().into_iter().find(|one| one.name.as_str() == "create_contact").unwrap();
    let spec = ToolSpec { reach: Reach::External, ..spec };
    let lost = UnknownOutcomeTool(ToolDefinition::new(
        spec,
        "Saves somebody.",
        serde_json::json!({"type": "object"}),
    ));
    let (models, settings) = (crate::support::catalogue(PAYS), Settings::default());
    let scenario = Scenario::with_tools(store, models, settings, vec![Arc::new(lost)]);
    let mut enzo = agent(ENZO, "enzo", Subtype::from("billing_specialist"));
    enzo.autonomy = AutonomyLevel::Autonomous;
    scenario.save_agent(enzo).await;
    scenario.pause_gia().await;
    scenario
}
