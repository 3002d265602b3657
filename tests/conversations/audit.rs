//! O15: every change is in the audit log once, by people, agents and programs alike.

use std::collections::BTreeSet;

use ostler_domain::agent::Agent;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::audit::AuditActor;
use ostler_domain::business_data::DataKind;
use ostler_domain::message::MessagePart;
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::new_key::KeyLifetime;
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::team::config::TeamConfig;
use ostler_runtime::operations::{Actor, ImportRow, NewKey, NewMember, OrgOperations};
use ostler_store::{NewGrant, SessionFilter};
use proptest::prelude::{ProptestConfig, any};
use proptest::{prop_assert_eq, proptest};
use serde_json::{Value, json};

use crate::approvals;
use crate::support::{ECHO, ENZO, GIA, ORG, Scenario, agent, lenient_settings};

/// O15: what an agent's tool changes is in the log, by that agent, with the state after it.
#[tokio::test]
async fn o15_changes_by_agents_are_in_the_audit_log() {
    let scenario = approvals::scenario(AutonomyLevel::Autonomous).await;
    scenario.say("rosa", "remember Rosa").await;
    scenario.say("rosa", "which products").await;
    let entries = scenario.org().audit_entries(None, None, 10).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|one| one.entry.action.as_str()).collect();
    assert_eq!(actions, ["link_contact", "create_contact"], "only what changes something");
    let entry = &entries[1].entry;
    assert_eq!((entry.actor, entry.action.as_str()), (AuditActor::Agent(GIA), "create_contact"));
    let data: Value = serde_json::from_str(&entry.data).unwrap();
    assert_eq!((&data["before"], &data["after"]["name"]), (&Value::Null, &json!("Rosa")));
    assert!(data["run"].as_str().is_some_and(|run| run.starts_with("run_")), "{data}");
    let contact = scenario.org().contacts(None, 9).await.unwrap()[0].contact.id;
    assert_eq!(entry.subject, contact.to_string());
}

/// O15: where several agents act in one run, each change is in the log by the agent that made
/// it.
#[tokio::test]
async fn o15_changes_of_one_run_are_logged_by_the_agent_that_made_each() {
    const SCRIPT: &str = "
rules:
  - when: { user: both, agent: 'You are Gia' }
    answer:
      - { call: create_contact, with: { name: Ann } }
      - call: tag_in_agent
        with: { targetAgentId: enzo, reason: asked, contextSummary: wants both }
  - when: { user: both, agent: 'You are Enzo' }
    answer: [{ call: create_contact, with: { name: Bob } }, Done.]
default: Yes.
";
    let scenario = Scenario::new(SCRIPT).await;
    for (id, slug, subtype) in
        [(GIA, "gia", Subtype::CustomerService), (ENZO, "enzo", Subtype::from("billing"))]
    {
        let autonomy = AutonomyLevel::Autonomous;
        scenario.save_agent(Agent { autonomy, ..agent(id, slug, subtype) }).await;
    }
    let team = Some(TeamConfig::default());
    scenario.save_settings(&OrgSettings { team, ..lenient_settings() }).await;
    scenario.say("rosa", "both, please").await;
    let entries = scenario.org().audit_entries(None, None, 10).await.unwrap();
    let created = entries.iter().filter(|one| one.entry.action == "create_contact");
    let made: BTreeSet<(AuditActor, String)> = created
        .map(|one| {
            let data: Value = serde_json::from_str(&one.entry.data).unwrap();
            (one.entry.actor, data["after"]["name"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    let expected = [(AuditActor::Agent(GIA), "Ann"), (AuditActor::Agent(ENZO), "Bob")];
    assert_eq!(made, expected.map(|(actor, name)| (actor, name.to_owned())).into());
}

/// Everything that the operations below change.
async fn state(scenario: &Scenario) -> String {
    let operations = scenario.operations();
    let org = operations.as_actor(Actor::Terminal, ORG);
    let live = operations.live_world(Actor::Terminal).await.unwrap();
    let keys = org.keys(None, 100).await.unwrap();
    let data = org.data_items(DataKind::Products, None, 100).await.unwrap();
    let contacts = org.contacts(None, None, 100).await.unwrap();
    // With their epochs: each takeover withdraws what is unsent, also a repeated one.
    let sessions = scenario.org().sessions(SessionFilter::All, None, 100).await.unwrap();
    let documents = org.documents(&BTreeSet::new(), None, 100).await.unwrap();
    format!(
        "{:?} {:?} {keys:?} {data:?} {contacts:?} {sessions:?} {documents:?} {:?} {:?}",
        live.resources,
        org.members().await.unwrap(),
        org.credits().await.unwrap(),
        org.soul_versions("gia").await.unwrap(),
    )
}

async fn import(org: &OrgOperations<'_>, kind: DataKind, key: &str, fields: Value) -> bool {
    let fields = fields.as_object().unwrap().clone();
    let row = ImportRow { number: 1, key: key.to_owned(), fields, file: None };
    match org.plan_import(kind, vec![row], None).await {
        Ok(mut plan) => org.apply_import(kind, &mut plan, "a.csv").await.is_ok(),
        Err(_) => false,
    }
}

/// Makes one of the operations, with one of two subjects. Many are refused or change
/// nothing, because it was done before.
async fn operate(scenario: &Scenario, choice: u8, second: bool) -> bool {
    let operations = scenario.operations();
    let org = operations.as_actor(Actor::Terminal, ORG);
    let email = if second { "tom@x.org" } else { "ada@x.org" };
    let person = if second { "otto" } else { "rosa" };
    let session = scenario.session(person).await.id;
    match choice {
        0 => {
            let new = NewMember { email: email.into(), name: None, role: Role::Viewer };
            org.add_member(new).await.is_ok()
        }
        1 => org.set_role(email, Role::Owner).await.is_ok(),
        2 => org.set_role(email, Role::Operator).await.is_ok(),
        3 => org.remove_member(email).await.is_ok(),
        4 => {
            let (reference, amount) = (format!("gift {email}"), Credits::new(5));
            org.grant_credits(NewGrant { reference, pool: PoolKind::Purchased, amount })
                .await
                .is_ok()
        }
        5 => org.add_document(email, "We close on Mondays.", &[]).await.is_ok(),
        6 => {
            let documents = org.documents(&BTreeSet::new(), None, 9).await.unwrap();
            match documents.first() {
                Some(first) => org.remove_document(first.id).await.is_ok(),
                None => false,
            }
        }
        7 => org.connect("payments", None).await.is_ok(),
        8 => org.disconnect("payments").await.is_ok(),
        9 => import(&org, DataKind::Products, email, json!({"name": "Bell", "sku": email})).await,
        10 => import(&org, DataKind::Products, email, json!({"name": "Bike", "sku": email})).await,
        11 => org.remove_data(DataKind::Products, email).await.is_ok(),
        12 => import(&org, DataKind::Contacts, email, json!({"details": {"email": email}})).await,
        13 => {
            let contacts = org.contacts(None, None, 9).await.unwrap();
            match contacts.as_slice() {
                [kept, other, ..] => org.merge_contacts(kept, other).await.is_ok(),
                _ => false,
            }
        }
        14 => match org.contacts(None, None, 1).await.unwrap().first() {
            Some(first) => org.delete_contact(first.contact.id).await.is_ok(),
            None => false,
        },
        15 => org.take_over(session).await.is_ok(),
        16 => org.say(session, vec![MessagePart::text("one moment")]).await.is_ok(),
        17 => org.resume(session).await.is_ok(),
        18 => org.close(session).await.is_ok(),
        19 => org.roll_back_soul("gia", 1).await.is_ok(),
        20 => {
            let (role, scopes) = (Role::Viewer, KeyScopes::default());
            let lifetime = KeyLifetime::Unlimited;
            org.create_key(NewKey { name: email.to_owned(), role, scopes, lifetime }).await.is_ok()
        }
        _ => match org.keys(None, 9).await.unwrap().first() {
            Some(first) => org.revoke_key(first.id).await.is_ok(),
            None => false,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// O15: for generated operations, a change leaves one entry, and what changes nothing
    /// leaves none.
    #[test]
    fn o15_generated_operations_leave_one_entry_for_each_change(
        steps in proptest::collection::vec((0u8..22, any::<bool>()), 60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let scenario = Scenario::new(ECHO).await;
            for person in ["rosa", "otto"] {
                scenario.say(person, "hello").await;
            }
            let mut before = state(&scenario).await;
            let mut known = scenario.org().audit_entries(None, None, 1000).await.unwrap().len();
            for (choice, second) in steps {
                let done = operate(&scenario, choice, second).await;
                let after = state(&scenario).await;
                let entries = scenario.org().audit_entries(None, None, 1000).await.unwrap();
                let (added, changed) = (entries.len() - known, before != after);
                prop_assert_eq!(added, usize::from(changed), "operation {} {:?}", choice, entries.first());
                assert!(done || !changed, "operation {choice} failed and changed something");
                (before, known) = (after, entries.len());
            }
            Ok(())
        })?;
    }
}
