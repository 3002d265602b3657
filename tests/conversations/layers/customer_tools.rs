//! The business tools of customer service, with their effects in the records of its own org.

use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{BlobId, ContactId, OrgId, RecordId};
use ostler_engine::outcome::ToolOutcome;
use ostler_runtime::operations::Actor;
use ostler_store::Store;
use ostler_tools::records::form_response_kind;
use serde_json::{Value, json};

use super::administration::script;
use super::tree::{AGENCY, STRANGER, Tree};
use crate::support::{ORG, on_every_database, stub_tool};

const ROSA: &str = "rosa@example.com";
const FORM: RecordId = RecordId::from_u128(0xf0);
const TABLE: RecordId = RecordId::from_u128(0x7ab);
/// The orgs with records, and a word that is in all of theirs.
const OWNERS: [(OrgId, &str); 3] = [(ORG, "Basil"), (AGENCY, "Anchor"), (STRANGER, "Ottoline")];

/// Stores an offer of every kind, a contact, and what the contact has ordered and answered.
async fn fill(store: &Store, org: OrgId, word: &str) {
    let (store, email) = (store.org(org), if org == ORG { ROSA } else { "other@example.com" });
    let contact = ContactId::from_u128(org.as_u128());
    let details = ContactDetails { phone: None, email: Some(email.to_owned()) };
    let (name, tags, notes) = (format!("{word} contact"), Default::default(), Vec::new());
    let stored = Contact { id: contact, name, details, locale: None, tags, notes, crm: None };
    store.create_contact(stored).await.unwrap();
    let at = "2026-12-10T10:00:00Z";
    let records = [
        (
            "product",
            TABLE,
            json!({"name": format!("{word} table"),
            "bookable": {"capacity": 9, "duration_minutes": 60}}),
        ),
        (
            "event",
            RecordId::from_u128(1),
            json!({"name": format!("{word} evening"),
            "starts_at": at, "ends_at": "2026-12-10T12:00:00Z"}),
        ),
        ("form", FORM, json!({"name": format!("{word} form"), "fields": []})),
        (
            "media",
            RecordId::from_u128(2),
            json!({"title": format!("{word} picture"),
            "media_type": "image/png", "blob": BlobId::from_u128(3)}),
        ),
        (
            "order",
            RecordId::from_u128(4),
            json!({"number": "A1", "contact": contact,
            "status": "sent", "lines": [{"name": format!("{word} pizza"), "quantity": 1}],
            "placed_at": at}),
        ),
    ];
    for (kind, id, data) in records {
        store.create_record(kind, id, data.to_string()).await.unwrap();
    }
    let response = json!({"contact": contact, "submitted_at": at,
        "answers": {"wish": format!("{word} please")}});
    let id = RecordId::from_u128(5);
    store.create_record(&form_response_kind(FORM), id, response.to_string()).await.unwrap();
}

on_every_database!(
    /// L52: in a customer's conversation each of customer service's business tools reads or creates
    /// records of its own org; pictures of Unsplash can be searched once the org is connected.
    l52_the_tools_of_customer_service_read_and_create_own_records
);
async fn l52_the_tools_of_customer_service_read_and_create_own_records(store: Store) {
    let reads = [
        ("query_org_data", json!({"kind": "order"}), "Basil pizza"),
        ("search_contacts", json!({}), "Basil contact"),
        ("list_events", json!({}), "Basil evening"),
        ("list_products", json!({}), "Basil table"),
        ("list_forms", json!({}), "Basil form"),
        ("search_media", json!({"query": "picture"}), "Basil picture"),
        ("get_form_responses", json!({"form_id": FORM}), "Basil please"),
    ];
    let writes = [
        ("create_contact", json!({"name": "Carla", "note": "a friend"})),
        (
            "create_booking",
            json!({"item_id": TABLE, "starts_at": "2027-02-01T19:00", "quantity": 2}),
        ),
    ];
    let both = reads.iter().map(|(tool, with, _)| (*tool, *tool, with.clone()));
    let calls: Vec<(&str, &str, Value)> =
        both.chain(writes.iter().map(|(tool, with)| (*tool, *tool, with.clone()))).collect();
    let unsplash = stub_tool("search_unsplash_images", |_| ToolOutcome::ok("a picture"));
    let tree = Tree::with_tools(store, &script(&calls), vec![unsplash]).await;
    for (org, word) in OWNERS {
        fill(&tree.scenario.store, org, word).await;
    }
    for (tool, _, expected) in reads {
        let said = tree.scenario.say(ROSA, &format!("do {tool}")).await.join("\n");
        assert!(said.contains(expected), "{tool}: {said}");
        for (_, other) in &OWNERS[1..] {
            assert!(!said.contains(other), "{tool}: {said}");
        }
    }
    let mut before = Vec::new();
    for (org, _) in OWNERS {
        before.push(counts(&tree, org).await);
    }
    for (tool, _) in writes {
        tree.scenario.say(ROSA, &format!("do {tool}")).await;
    }
    for ((org, _), (contacts, bookings)) in OWNERS.into_iter().zip(before) {
        let more = usize::from(org == ORG);
        assert_eq!(counts(&tree, org).await, (contacts + more, bookings + more), "{org}");
    }
    let booking = tree.scenario.org().records("booking", None, 9).await.unwrap().remove(0);
    let booking: Value = serde_json::from_str(&booking.data).unwrap();
    assert_eq!((&booking["quantity"], &booking["status"]), (&json!(2), &json!("confirmed")));

    let has_unsplash = || tree.offered_to("Gia").iter().any(|one| one == "search_unsplash_images");
    assert!(!has_unsplash(), "not connected");
    let operations = tree.scenario.operations();
    operations.as_actor(Actor::Terminal, ORG).connect("unsplash", None).await.unwrap();
    tree.scenario.say(ROSA, "hello").await;
    assert!(has_unsplash(), "connected");
}

/// Returns how many contacts and bookings an org has.
async fn counts(tree: &Tree, org: OrgId) -> (usize, usize) {
    let store = tree.scenario.store.org(org);
    let bookings = store.records("booking", None, 9).await.unwrap();
    (store.contacts(None, 9).await.unwrap().len(), bookings.len())
}
