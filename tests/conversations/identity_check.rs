//! The check by which an org lets customers prove who they are, and customers who are saved as
//! new contacts.

use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{ContactId, RecordId};
use ostler_domain::identity_check::IdentityCheck;
use ostler_domain::org::settings::OrgSettings;
use ostler_store::{OrgStore, Store};
use serde_json::json;

use crate::support::{Scenario, lenient_settings, on_every_database};

const ROSA: ContactId = ContactId::from_u128(0x105a);
const SCRIPT: &str = "
rules:
  - when: { user: { regex: 'I am (?<email>\\S+) with (?<order>\\w+)' } }
    answer:
      - { call: verify_identity, with: { order: '{{ order }}', email: '{{ email }}' } }
      - { call: query_org_data, with: { kind: order } }
      - 'Found: {{ result }}'
  - when: { user: my orders }
    answer:
      - { call: query_org_data, with: { kind: order } }
      - 'Found: {{ result }}'
  - when: { user: save me }
    answer:
      - { call: create_contact, with: { name: Nina, email: rosa@example.com } }
      - Saved.
default: I see.
";

/// Stores Rosa and an order of hers.
async fn add_rosa(org: OrgStore<'_>) {
    let rosa = Contact {
        id: ROSA,
        name: "Rosa".into(),
        details: ContactDetails { phone: None, email: Some("rosa@example.com".into()) },
        locale: None,
        tags: Default::default(),
        notes: Vec::new(),
        crm: None,
    };
    org.create_contact(rosa).await.unwrap();
    let order = json!({"number": "R77", "contact": ROSA, "status": "on its way",
        "lines": [{"name": "Calzone", "quantity": 1}], "placed_at": "2026-11-10T10:00:00Z",
        "total": {"amount": "50.00", "currency": "EUR"}});
    org.create_record("order", RecordId::from_u128(0x77), order.to_string()).await.unwrap();
}

/// An org with Rosa's order and a check by order number and e-mail address.
async fn shop(store: Store) -> Scenario {
    let scenario = Scenario::in_store(store, SCRIPT).await;
    let identity_check = Some(IdentityCheck::default());
    scenario.save_settings(&OrgSettings { identity_check, ..lenient_settings() }).await;
    scenario
        .change_agent(crate::support::GIA, |gia| {
            gia.autonomy = ostler_domain::agent::autonomy::AutonomyLevel::Autonomous;
        })
        .await;
    add_rosa(scenario.org()).await;
    scenario
}

/// Returns whether a visitor is shown Rosa's order.
async fn sees_order(scenario: &Scenario, visitor: &str, text: &str) -> bool {
    scenario.say(visitor, text).await.concat().contains("on its way")
}

on_every_database!(s01_a_customer_proves_who_they_are_by_the_configured_check);
/// S01: a visitor who knows the number of an order and its address is shown this customer's
/// records, in the conversation in which they proved it and nowhere else.
async fn s01_a_customer_proves_who_they_are_by_the_configured_check(store: Store) {
    let scenario = shop(store).await;
    assert!(!sees_order(&scenario, "v1", "my orders").await, "nobody is known yet");
    assert!(!sees_order(&scenario, "v1", "I am eve@example.com with R77").await);
    assert!(sees_order(&scenario, "v1", "I am Rosa@example.com with r77").await, "at once");
    assert!(sees_order(&scenario, "v1", "my orders").await, "and later");
    assert_eq!(scenario.session("v1").await.contact, Some(ROSA));
    assert!(!sees_order(&scenario, "v2", "my orders").await, "another visitor is unknown");
    let log = scenario.org().audit_entries(None, None, 100).await.unwrap();
    let action = |name: &str| log.iter().filter(|one| one.entry.action == name).count();
    assert_eq!((action("verify_identity"), action("refused")), (1, 1));
}

on_every_database!(s01_the_check_has_few_attempts);
/// S01: after three attempts a conversation has none left for the day, also not with the right
/// details; an order has nine in all conversations.
async fn s01_the_check_has_few_attempts(store: Store) {
    let scenario = shop(store).await;
    for visitor in ["v1", "v2", "v3"] {
        for attempt in 0..3 {
            let guess = format!("I am guess{attempt}@example.com with R77");
            assert!(!sees_order(&scenario, visitor, &guess).await);
        }
        let right = sees_order(&scenario, visitor, "I am rosa@example.com with R77").await;
        assert!(!right, "{visitor} has no attempt left");
    }
    let right = sees_order(&scenario, "v4", "I am rosa@example.com with R77").await;
    assert!(!right, "the order has no attempt left");
}

/// S01: without the setting there is no such tool.
#[tokio::test]
async fn s01_without_the_setting_nobody_can_prove_anything() {
    let scenario = Scenario::new(SCRIPT).await;
    add_rosa(scenario.org()).await;
    assert!(!sees_order(&scenario, "v1", "I am rosa@example.com with R77").await);
    assert!(!scenario.tools("v1").await.contains(&"verify_identity".to_owned()));
}

on_every_database!(s01_a_new_contact_is_linked_to_the_sender);
/// S01: a customer whom an agent saves is known by their channel from then on, and never by an
/// address that they only said.
async fn s01_a_new_contact_is_linked_to_the_sender(store: Store) {
    let scenario = shop(store).await;
    scenario.say("v1", "save me").await;
    let known = scenario.org().recognize(&Channel::Webchat, "v1").await.unwrap();
    let nina = known.expect("the visitor is known").contact;
    assert_eq!((nina.name.as_str(), nina.details.email), ("Nina", None));
    assert!(!sees_order(&scenario, "v1", "my orders").await, "she is not Rosa");
    assert_eq!(scenario.session("v1").await.contact, Some(nina.id));
    let rosa = scenario.org().recognize(&Channel::Email, "rosa@example.com").await.unwrap();
    assert_eq!(rosa.map(|known| known.contact.id), Some(ROSA));
}
