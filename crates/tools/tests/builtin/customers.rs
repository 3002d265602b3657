//! What tools show in a conversation that a customer opened.

use std::collections::BTreeMap;

use ostler_domain::id::{ContactId, RecordId};
use ostler_domain::tool::{Audience, Trust};
use ostler_engine::outcome::OutcomeStatus;
use ostler_tools::records::{
    Booking, BookingStatus, Entity, Form, FormResponse, Order, OrderLine, Refunds,
    form_response_kind,
};
use serde_json::json;

use crate::fixture::{Fixture, ORG};

/// A word in each record of the other person.
const SECRET: &str = "Ottoline";
const FORM: u128 = 50;

/// An org with the records of Rosa, of another person, and of nobody known.
async fn two_people() -> (Fixture, ContactId, ContactId) {
    let mut fixture = Fixture::new().await;
    let mut ids = Vec::new();
    for (name, phone) in [("Rosa", "+39 06 1"), (SECRET, "+39 06 2")] {
        let created =
            fixture.call_json("create_contact", json!({"name": name, "phone": phone})).await;
        ids.push(created["created"]["id"].as_str().unwrap().parse().unwrap());
    }
    fixture.commit().await.unwrap();
    let owners = [(Some(ids[0]), "Rosa"), (Some(ids[1]), SECRET), (None, SECRET)];
    for (number, (contact, name)) in (1..).zip(owners) {
        let at = "2026-11-10T10:00:00Z".parse().unwrap();
        let order = Order {
            number: format!("100{number}"),
            contact,
            status: "shipped".into(),
            lines: vec![OrderLine { name: name.into(), quantity: 2, price: None }],
            total: None,
            placed_at: at,
        };
        fixture.put(ORG, number, &order).await;
        let refunds = Refunds { order_number: name.into(), refunds: Vec::new() };
        fixture.put(ORG, number, &refunds).await;
        let booking = Booking {
            item: RecordId::from_u128(9),
            calendar: None,
            name: name.into(),
            contact,
            starts_at: at,
            ends_at: at,
            quantity: 1,
            status: BookingStatus::Confirmed,
            notes: None,
            cancelled: None,
        };
        fixture.put(ORG, number, &booking).await;
        let response = FormResponse {
            contact,
            submitted_at: at,
            answers: BTreeMap::from([("name".into(), json!(name))]),
        };
        let (form, data) = (RecordId::from_u128(FORM), serde_json::to_string(&response).unwrap());
        fixture.put_as(ORG, &form_response_kind(form), number, &data).await;
    }
    let form = Form { name: "Feedback".into(), description: String::new(), fields: Vec::new() };
    fixture.put_as(ORG, Form::KIND, FORM, &serde_json::to_string(&form).unwrap()).await;
    (fixture, ids[0], ids[1])
}

/// Calls every reading tool in every way and returns all that it answers.
async fn read_everything(fixture: &mut Fixture, other: ContactId) -> String {
    let mut calls = vec![
        ("search_contacts", json!({})),
        ("search_contacts", json!({"query": "+39 06 2"})),
        ("search_contacts", json!({"query": SECRET})),
        ("get_form_responses", json!({"form_id": RecordId::from_u128(FORM)})),
        ("create_contact", json!({"name": "X", "phone": "+39 06 2"})),
        ("refund_payment", json!({"order": "1002", "amount": "1.00", "reason": "x"})),
    ];
    for kind in ["contact", "order", "booking", "refunds"] {
        calls.push(("query_org_data", json!({"kind": kind})));
    }
    let of_other = json!([{"field": "contact", "op": "eq", "value": other}]);
    calls.push(("query_org_data", json!({"kind": "order", "filter": of_other})));
    for number in 1..=3_u128 {
        calls.push(("get_order", json!({"order": format!("100{number}")})));
        calls.push(("get_order", json!({"order": RecordId::from_u128(number)})));
    }
    let mut answers = String::new();
    for (tool, arguments) in calls {
        answers.push_str(&fixture.call(tool, arguments).await.content);
    }
    answers
}

/// S01: in a customer's conversation tools show the records of that customer only, and
/// none if the person is not known. Staff see all of them.
#[tokio::test]
async fn s01_tools_show_customers_their_own_records_only() {
    let (mut fixture, rosa, other) = two_people().await;
    assert!(read_everything(&mut fixture, other).await.contains(SECRET), "staff");
    fixture.audience = Audience::Customer;
    let unknown = read_everything(&mut fixture, other).await;
    assert!(!unknown.contains(SECRET) && !unknown.contains("\"Rosa\""), "{unknown}");
    fixture.contact = Some(rosa);
    let own = read_everything(&mut fixture, other).await;
    assert!(!own.contains(SECRET), "{own}");
    for (tool, arguments) in [
        ("search_contacts", json!({})),
        ("query_org_data", json!({"kind": "order"})),
        ("query_org_data", json!({"kind": "booking"})),
        ("get_form_responses", json!({"form_id": RecordId::from_u128(FORM)})),
        ("get_order", json!({"order": "1001"})),
    ] {
        let outcome = fixture.call(tool, arguments).await;
        assert!(outcome.content.contains("Rosa"), "{tool}: {}", outcome.content);
    }
}

/// S01: a customer changes their own records only, and an unknown one none. What they say about
/// themselves is a note, so nobody else is recognized by it and nobody learns who is known.
#[tokio::test]
async fn s01_tools_change_the_customers_own_records_only() {
    let (mut fixture, rosa, other) = two_people().await;
    fixture.audience = Audience::Customer;
    let [mine, theirs] = [1, 2].map(RecordId::from_u128);
    for (contact, known) in [(None, false), (Some(rosa), true)] {
        fixture.contact = contact;
        for (owner, booking, own) in [(other, theirs, false), (rosa, mine, known)] {
            let changes = json!({"locale": "it-IT"});
            let updated = fixture
                .call_text("update_contact", json!({"contact_id": owner, "changes": changes}))
                .await;
            assert_eq!(updated.0 == OutcomeStatus::Ok, own, "{updated:?}");
            let cancelled = fixture
                .call_text("cancel_booking", json!({"booking_id": booking, "reason": "x"}))
                .await;
            // Rosa's booking is over, which only she is told.
            assert_eq!(cancelled.1.contains("is over"), own, "{cancelled:?}");
        }
        let said = json!({"name": "Eve", "phone": "+39 06 2", "email": "o@example.com"});
        let created = fixture.call_json("create_contact", said).await;
        assert_eq!(created["created"]["phone"], json!(null));
        let note = created["created"]["notes"][0].as_str().unwrap();
        assert!(note.contains("+39 06 2 (not proven)"), "{note}");
        fixture.pending.clear();
    }
}

/// S03: what customers wrote is untrusted when a tool returns it; an order is private.
#[tokio::test]
async fn s03_what_customers_wrote_is_untrusted() {
    let (mut fixture, ..) = two_people().await;
    for (tool, arguments, trust) in [
        ("search_contacts", json!({}), Trust::Untrusted),
        ("export_contacts", json!({}), Trust::Untrusted),
        ("query_org_data", json!({"kind": "contact"}), Trust::Untrusted),
        ("query_org_data", json!({"kind": "booking"}), Trust::Untrusted),
        ("query_org_data", json!({"kind": "order"}), Trust::Private),
        ("get_form_responses", json!({"form_id": RecordId::from_u128(FORM)}), Trust::Untrusted),
        ("get_order", json!({"order": "1001"}), Trust::Private),
        ("list_products", json!({}), Trust::Trusted),
    ] {
        assert_eq!(fixture.call(tool, arguments).await.trust, trust, "{tool}");
    }
}
