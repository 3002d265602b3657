//! What operators do beside answering.

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
use ostler_domain::org::plan::Plan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, Place};
use ostler_domain::tool::catalogue::built_in;
use ostler_domain::tool::{Reach, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{Outcome, Status};
use ostler_engine::tool::{Definition, Reply, Tool, ToolContext};
use ostler_runtime::operations::{Actor, OperationError};
use ostler_runtime::parts::Settings;
use ostler_store::{Delivery, NewGrant, Store, Which};

use crate::world::{ECHO, ENZO, ORG, OWNER, World, agent};

const VIEWER: UserId = UserId::from_u128(0x21);
const STRANGER: UserId = UserId::from_u128(0x22);

fn forbidden<T>(result: &Result<T, OperationError>) -> bool {
    matches!(result, Err(OperationError::Forbidden { .. }))
}

fn gift() -> NewGrant {
    let (reference, amount) = ("gift-1".to_owned(), Credits::new(10));
    NewGrant { reference, pool: PoolKind::Purchased, amount }
}

/// Each does what their role allows, and is on the record with it.
#[tokio::test]
async fn a_role_decides_what_somebody_may_do() {
    let world = World::new(ECHO).await;
    world.member(OWNER, Role::Owner).await;
    world.member(VIEWER, Role::Viewer).await;
    world.say("rosa", "hello").await;
    let id = world.session("rosa").await.id;
    let operations = world.operations();
    let key = |role| Actor::Key { id: KeyId::from_u128(9), org: ORG, role };
    let other =
        Actor::Key { id: KeyId::from_u128(8), org: OrgId::from_u128(99), role: Role::Owner };
    // Who looks, who works, who sets up.
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
        let office = operations.as_actor(actor, ORG);
        let looked = office.sessions(Which::All, None, 10).await;
        assert_eq!(!forbidden(&looked), looks, "{actor:?}");
        let took = office.take_over(id).await;
        assert_eq!(!forbidden(&took), works, "{actor:?}");
        if works {
            office.resume(id).await.unwrap();
        }
        let added = office.add_document("Hours", "We open at six.", &["public"]).await;
        assert_eq!(!forbidden(&added), sets_up, "{actor:?}");
        let granted = office.grant_credits(gift()).await;
        assert_eq!(forbidden(&granted), actor != Actor::Terminal, "{actor:?}");
    }
    let actors: BTreeSet<_> = world
        .org()
        .audit(None, None, 100)
        .await
        .unwrap()
        .iter()
        .map(|one| one.line.actor)
        .collect();
    let expected =
        [audit::Actor::User(OWNER), audit::Actor::Key(KeyId::from_u128(9)), audit::Actor::Terminal];
    assert_eq!(actors, expected.into());
}

/// An agency's people work in the inboxes of its clients, and set nothing up
/// there; a client's people do not reach the agency.
#[tokio::test]
async fn an_agency_works_for_its_clients() {
    let store = Store::connect("sqlite::memory:").unwrap();
    store.migrate().await.unwrap();
    let world = World::on(store, ECHO).await;
    world.member(OWNER, Role::Owner).await;
    let client = OrgId::from_u128(0xc1);
    let org = Org {
        id: client,
        slug: "client".into(),
        name: "Client".into(),
        place: Place::SubOrg { parent: ORG },
        plan: Plan::Free,
        sub_orgs_enabled: false,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
    };
    world.store.create_org(org).await.unwrap();
    let operations = world.operations();
    let below = operations.as_actor(Actor::User(OWNER), client);
    assert!(below.sessions(Which::All, None, 10).await.unwrap().is_empty());
    assert!(forbidden(&below.add_document("Hours", "Six.", &[]).await));
    world.store.org(client).set_member(OWNER, Role::Owner).await.unwrap();
    assert!(!forbidden(&below.add_document("Hours", "Six.", &[]).await));
    let key = Actor::Key { id: KeyId::from_u128(7), org: client, role: Role::Owner };
    let above = operations.as_actor(key, ORG);
    assert!(forbidden(&above.sessions(Which::All, None, 10).await));
}

/// A session as a screen shows it: messages and runs in order, each run with the
/// decisions of its turns.
#[tokio::test]
async fn a_session_is_shown_with_what_happened_in_it() {
    let world = World::new(
        "
rules:
  - when: { user: products }
    answer: [{ call: list_products }, Nothing today.]
default: Hello there.
",
    )
    .await;
    world.say("rosa", "hello").await;
    world.say("rosa", "which products").await;
    let operations = world.operations();
    let office = operations.as_actor(Actor::Terminal, ORG);
    let listed = office.sessions(Which::All, None, 10).await.unwrap();
    let shown = office.session(listed[0].id).await.unwrap();
    let said: Vec<String> = shown.messages.iter().map(|one| one.text().into_owned()).collect();
    assert_eq!(said, ["hello", "Hello there.", "which products", "Nothing today."]);
    assert_eq!(shown.runs.len(), 2);
    assert_eq!(shown.runs[1].turns[0].decisions[0].tool, "list_products");
    let missing = office.session(ostler_domain::id::SessionId::from_u128(5)).await.unwrap_err();
    assert_eq!(missing.to_string(), "no such session here");
}

/// Credits, knowledge and notices.
#[tokio::test]
async fn credits_knowledge_and_notices_are_looked_after() {
    let world = World::new(ECHO).await;
    let operations = world.operations();
    let office = operations.as_actor(Actor::Terminal, ORG);
    let before = office.credits().await.unwrap().pool(PoolKind::Purchased).available;
    office.grant_credits(gift()).await.unwrap();
    office.grant_credits(gift()).await.unwrap();
    let after = office.credits().await.unwrap().pool(PoolKind::Purchased).available;
    assert_eq!(after, before + Credits::new(10), "a repeat grants nothing");
    assert!(office.ledger(None, 10).await.unwrap().iter().any(|one| {
        one.reference.as_deref() == Some("gift-1") && one.amount == Credits::new(10)
    }));

    let id = office.add_document("Hours", "We open at six.", &["public"]).await.unwrap();
    let all = office.documents(&BTreeSet::new(), None, 10).await.unwrap();
    assert_eq!((all.len(), all[0].id), (1, id));
    office.remove_document(id).await.unwrap();
    assert!(office.documents(&BTreeSet::new(), None, 10).await.unwrap().is_empty());
    assert!(matches!(office.add_document(" ", "x", &[]).await, Err(OperationError::Document(_))));

    world.say("rosa", "talk to a human").await;
    let unread = office.unread_notices(None, 10).await.unwrap();
    assert_eq!(unread.len(), 1);
    office.read_notice(unread[0].notice.id).await.unwrap();
    assert!(office.unread_notices(None, 10).await.unwrap().is_empty());
}

/// A message that could not be sent is tried again, or laid aside; then the owner
/// hears of it.
#[tokio::test]
async fn dead_letters_are_replayed_or_laid_aside() {
    let world = World::new(ECHO).await;
    let operations = world.operations();
    let office = operations.as_actor(Actor::Terminal, ORG);
    for who in ["rosa", "otto"] {
        world.write(who, "hello").await;
        world.work().await;
        let row = world.store.claim_outbox(std::time::Duration::from_secs(10)).await.unwrap();
        let row = row.unwrap();
        world.org().record_delivery(&row, Delivery::Dead("blocked".into())).await.unwrap();
    }
    let dead = office.dead_letters(None, 10).await.unwrap();
    assert_eq!(dead.len(), 2);
    office.replay_dead_letter(dead[0].id).await.unwrap();
    assert_eq!(world.deliver().await.len(), 1);
    assert!(matches!(
        office.abandon_dead_letter(dead[1].id, "").await,
        Err(OperationError::Empty(_))
    ));
    office.abandon_dead_letter(dead[1].id, "the number is gone").await.unwrap();
    assert!(office.dead_letters(None, 10).await.unwrap().is_empty());
    let told = world.notices().await;
    assert_eq!(told[0].notice.kind, NoticeKind::DeadLetterAbandoned);
    assert!(told[0].notice.data.contains("the number is gone"));
    let actions: Vec<_> = world.org().audit(None, None, 10).await.unwrap();
    let actions: Vec<_> = actions.iter().map(|one| one.line.action.as_str()).collect();
    assert_eq!(actions, ["abandon_dead_letter", "replay_dead_letter"]);
}

/// A tool whose answer never comes.
struct Lost(Definition);

impl Tool for Lost {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, Reply> {
        let outcome = Outcome::of(Status::OutcomeUnknown, "the connection was cut".to_owned());
        std::future::ready(Reply::Done(outcome)).boxed()
    }
}

const PAYS: &str = "
rules:
  - when: { user: order }
    answer: [{ call: create_contact, with: { name: Rosa } }, I do not know yet.]
  - when: { user: 'known now' }
    answer: Good news, it went through.
default: 'About {user}: yes.'
";

/// Z09, F01: nobody knows what became of a call. The session waits for it, and
/// goes on when somebody has found out.
#[tokio::test]
async fn z09_an_operator_says_what_became_of_a_call() {
    let world = world_of_lost_calls().await;
    world.say("rosa", "order this").await;
    let session = world.session("rosa").await;
    assert_eq!(session.unknown_outcomes, 1);
    world.pass(std::time::Duration::from_secs(30 * 24 * 3600));
    assert_eq!(world.sweep().await.sessions, 0, "the clocks stand still");
    let operations = world.operations();
    let office = operations.as_actor(Actor::Terminal, ORG);
    let unknown = office.unknown_calls(None, 10).await.unwrap();
    assert_eq!(unknown.len(), 1);
    let call = unknown[0].intent.call;
    assert!(matches!(office.resolve_unknown(call, " ").await, Err(OperationError::Empty(_))));
    office.resolve_unknown(call, "it went through").await.unwrap();
    world.work().await;
    let sent = world.deliver().await;
    let heard: Vec<String> = sent.iter().map(crate::world::text_of).collect();
    assert_eq!(heard, ["Good news, it went through."]);
    let after = world.session("rosa").await;
    assert_eq!((after.id, after.unknown_outcomes), (session.id, 0));
    assert!(office.unknown_calls(None, 10).await.unwrap().is_empty());
}

/// A world in which nobody learns what became of a call.
pub(crate) async fn world_of_lost_calls() -> World {
    let store = Store::connect("sqlite::memory:").unwrap();
    store.migrate().await.unwrap();
    drop(World::on(store.clone(), PAYS).await);
    let spec = built_in().into_iter().find(|one| one.name.as_str() == "create_contact").unwrap();
    let spec = ToolSpec { reach: Reach::External, ..spec };
    let lost =
        Lost(Definition::new(spec, "Saves somebody.", serde_json::json!({"type": "object"})));
    let (models, settings) = (crate::world::catalogue(PAYS), Settings::default());
    let world = World::with_tools(store, models, settings, vec![Arc::new(lost)]);
    let mut enzo = agent(ENZO, "enzo", Subtype::from("billing_specialist"));
    enzo.autonomy = AutonomyLevel::Autonomous;
    world.save_agent(enzo).await;
    world.without_gia().await;
    world
}
