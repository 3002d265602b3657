//! Tools for bookings.

use ostler_domain::id::{ContactId, RecordId};
use ostler_engine::outcome::OutcomeStatus;
use ostler_tools::effects::{self, EffectError, StoreEffect};
use ostler_tools::records::{
    BookableResource, Booking, BookingStatus, BookingTerms, CalendarEvent, Entity, Product,
};
use serde_json::{Value, json};

use crate::fixture::{Fixture, ORG, OTHER_ORG};

fn product(name: &str, capacity: u32, resource: Option<RecordId>) -> Product {
    Product {
        name: name.into(),
        description: String::new(),
        price: None,
        tags: [].into(),
        active: true,
        bookable: Some(BookingTerms { capacity, duration_minutes: 60, resource }),
    }
}

fn concert(capacity: Option<u32>) -> CalendarEvent {
    CalendarEvent {
        name: "Concert".into(),
        description: String::new(),
        location: None,
        starts_at: "2026-11-20T19:00:00Z".parse().unwrap(),
        ends_at: "2026-11-20T21:00:00Z".parse().unwrap(),
        capacity,
        price: None,
        tags: [].into(),
    }
}

fn at(item: RecordId, time: &str, quantity: u32) -> Value {
    json!({ "item_id": item, "starts_at": time, "quantity": quantity })
}

impl Fixture {
    async fn try_book(&mut self, item: RecordId, time: &str, quantity: u32) -> bool {
        let (status, said) = self.call_text("create_booking", at(item, time, quantity)).await;
        match status {
            OutcomeStatus::Ok => assert!(said.contains("\"booked\""), "{said}"),
            OutcomeStatus::Refused => assert!(said.starts_with("Not booked"), "{said}"),
            other => panic!("{other:?}: {said}"),
        }
        status == OutcomeStatus::Ok
    }

    async fn bookings(&self) -> Vec<Booking> {
        let all = self.store.org(ORG).records(Booking::KIND, None, 100).await.unwrap();
        all.iter().map(|record| serde_json::from_str(&record.data).unwrap()).collect()
    }
}

#[tokio::test]
async fn a_booking_is_stored_with_the_turn_and_visible_before() {
    let mut fixture = Fixture::new().await;
    let table = fixture.put(ORG, 1, &product("Table", 4, None)).await;
    fixture.contact = Some(ContactId::from_u128(7));
    let booked = fixture.call_json("create_booking", at(table, "2026-11-20T19:30", 2)).await;
    let booked = &booked["booked"];
    assert_eq!(booked["starts_at"], "2026-11-20T19:30:00+01:00[Europe/Rome]");
    assert_eq!(booked["ends_at"], "2026-11-20T20:30:00+01:00[Europe/Rome]");
    assert_eq!(fixture.bookings().await, []);
    let filter = json!([{ "field": "contact", "op": "eq", "value": ContactId::from_u128(7) }]);
    let query = json!({ "kind": "booking", "filter": filter, "fields": ["name"] });
    let expected = json!({ "records": [{ "id": booked["id"], "name": "Table" }] });
    assert_eq!(fixture.call_json("query_org_data", query.clone()).await, expected);
    fixture.commit().await.unwrap();
    assert_eq!(fixture.call_json("query_org_data", query).await, expected);
    assert_eq!(fixture.bookings().await.len(), 1);
}

#[tokio::test]
async fn overlapping_bookings_never_exceed_the_capacity() {
    let mut fixture = Fixture::new().await;
    let table = fixture.put(ORG, 1, &product("Table", 4, None)).await;
    for (time, quantity, expected) in [
        ("2026-11-20T19:00", 3, true),
        ("2026-11-20T19:30", 2, false),
        ("2026-11-20T19:30", 1, true),
        ("2026-11-20T19:59", 1, false),
        ("2026-11-20T20:00", 3, true),
        ("2026-11-20T18:00", 4, true),
        ("2026-11-20T12:00", 5, false),
    ] {
        assert_eq!(fixture.try_book(table, time, quantity).await, expected, "{time} {quantity}");
    }
    let (_, why) = fixture.call_text("create_booking", at(table, "2026-11-20T19:00", 2)).await;
    assert_eq!(why, "Not booked: `Table` has 0 of 4 places left at that time. Offer another time.");
    fixture.commit().await.unwrap();
    assert_eq!(fixture.bookings().await.len(), 4);
    assert!(!fixture.try_book(table, "2026-11-20T19:00", 1).await, "stored bookings count too");
}

#[tokio::test]
async fn products_share_the_places_of_a_resource() {
    let mut fixture = Fixture::new().await;
    let room = fixture.put(ORG, 1, &BookableResource { name: "Room".into(), capacity: 1 }).await;
    let massage = fixture.put(ORG, 2, &product("Massage", 9, Some(room))).await;
    let facial = fixture.put(ORG, 3, &product("Facial", 9, Some(room))).await;
    assert!(fixture.try_book(massage, "2026-11-20T10:00", 1).await);
    assert!(!fixture.try_book(facial, "2026-11-20T10:30", 1).await);
    assert!(fixture.try_book(facial, "2026-11-20T11:00", 1).await);
}

#[tokio::test]
async fn a_booking_over_midnight_takes_all_its_days() {
    let mut fixture = Fixture::new().await;
    let room = fixture.put(ORG, 1, &product("Room", 1, None)).await;
    let three_nights =
        json!({ "item_id": room, "starts_at": "2026-11-20T15:00", "duration_minutes": 4200 });
    fixture.call_json("create_booking", three_nights).await;
    for (time, free) in [
        ("2026-11-20T14:01", false),
        ("2026-11-20T14:00", true),
        ("2026-11-22T09:00", false),
        ("2026-11-23T12:30", false),
        ("2026-11-23T13:00", true),
    ] {
        let before = fixture.pending.clone();
        assert_eq!(fixture.try_book(room, time, 1).await, free, "{time}");
        fixture.pending = before;
    }
}

/// The places of an event stay taken if its end is unknown, and if it is moved after
/// people have booked.
#[tokio::test]
async fn places_of_an_event_stay_taken_when_it_is_moved() {
    let mut fixture = Fixture::new().await;
    let endless = CalendarEvent { ends_at: concert(None).starts_at, ..concert(Some(2)) };
    let event = fixture.put(ORG, 1, &endless).await;
    let places = |quantity: u32| json!({ "item_id": event, "quantity": quantity });
    let booked = fixture.call_json("create_booking", places(2)).await;
    fixture.commit().await.unwrap();
    let full = "0 of 2 places left";
    assert!(fixture.call_text("create_booking", places(1)).await.1.contains(full));
    let read = fixture.store.org(ORG).record(CalendarEvent::KIND, event).await.unwrap();
    let later = "2026-12-20T19:00:00Z".parse().unwrap();
    let moved = CalendarEvent { starts_at: later, ends_at: later, ..endless }.to_json().unwrap();
    fixture.store.org(ORG).update_record(CalendarEvent::KIND, &read, moved).await.unwrap();
    assert!(fixture.call_text("create_booking", places(1)).await.1.contains(full));
    let cancel = json!({ "booking_id": booked["booked"]["id"], "reason": "ill" });
    fixture.call_json("cancel_booking", cancel).await;
    fixture.call_json("create_booking", places(2)).await;
    fixture.commit().await.unwrap();
    assert!(fixture.call_text("create_booking", places(1)).await.1.contains(full));
}

#[tokio::test]
async fn an_event_is_booked_at_its_own_time() {
    let mut fixture = Fixture::new().await;
    let event = fixture.put(ORG, 1, &concert(Some(2))).await;
    let free = fixture.put(ORG, 2, &concert(None)).await;
    let booked =
        fixture.call_json("create_booking", json!({ "item_id": event, "quantity": 2 })).await;
    assert_eq!(booked["booked"]["starts_at"], "2026-11-20T20:00:00+01:00[Europe/Rome]");
    let (_, why) = fixture.call_text("create_booking", json!({ "item_id": event })).await;
    assert!(why.contains("0 of 2 places left"), "{why}");
    for (arguments, expected) in [
        (at(event, "2026-11-21T20:00", 1), "leave starts_at out"),
        (json!({ "item_id": free }), "cannot be booked"),
    ] {
        let (status, why) = fixture.call_text("create_booking", arguments).await;
        assert_eq!((status, why.contains(expected)), (OutcomeStatus::Invalid, true), "{why}");
    }
}

#[tokio::test]
async fn invalid_bookings_are_explained() {
    let mut fixture = Fixture::new().await;
    let table = fixture.put(ORG, 1, &product("Table", 4, None)).await;
    let old = Product { active: false, ..product("Old", 4, None) };
    let old = fixture.put(ORG, 2, &old).await;
    let nothing = RecordId::from_u128(77);
    let nobody = ContactId::from_u128(78);
    for (arguments, expected) in [
        (at(table, "2026-11-15T13:30", 1), "is in the past; it is 2026-11-15T14:00:00+01:00"),
        (at(table, "2062-11-15T13:30", 1), "too far ahead"),
        (at(table, "tomorrow", 1), "is not a time. Write it as"),
        (at(table, "2027-03-28T02:30", 1), "Clocks change in Europe/Rome"),
        (json!({ "item_id": table }), "Give the start"),
        (at(table, "2026-11-20T19:30", 0), "minimum"),
        (at(old, "2026-11-20T19:30", 1), "cannot be booked"),
        (at(nothing, "2026-11-20T19:30", 1), "There is no product or event"),
        (
            json!({ "item_id": table, "starts_at": "2026-11-20T19:30", "contact_id": nobody }),
            "There is no contact",
        ),
    ] {
        let (status, why) = fixture.call_text("create_booking", arguments.clone()).await;
        let missing = expected.starts_with("There is no");
        let kind = if missing { OutcomeStatus::NotFound } else { OutcomeStatus::Invalid };
        assert_eq!((status, why.contains(expected)), (kind, true), "{arguments}: {why}");
    }
    assert_eq!(fixture.pending, []);
}

#[tokio::test]
async fn a_cancelled_place_is_free_again() {
    let mut fixture = Fixture::new().await;
    let table = fixture.put(ORG, 1, &product("Table", 1, None)).await;
    let booked = fixture.call_json("create_booking", at(table, "2026-11-20T19:30", 1)).await;
    fixture.commit().await.unwrap();
    let cancel = json!({ "booking_id": booked["booked"]["id"], "reason": "ill" });
    fixture.call_json("cancel_booking", cancel.clone()).await;
    assert!(fixture.try_book(table, "2026-11-20T19:30", 1).await, "in the same turn");
    let (status, why) = fixture.call_text("cancel_booking", cancel).await;
    assert_eq!(
        (status, why.contains("is cancelled already")),
        (OutcomeStatus::Refused, true),
        "{why}"
    );
    fixture.commit().await.unwrap();
    let bookings = fixture.bookings().await;
    let cancelled = bookings.iter().filter(|booking| booking.status == BookingStatus::Cancelled);
    assert_eq!((cancelled.count(), bookings.len()), (1, 2));
    let unknown = json!({ "booking_id": RecordId::from_u128(5), "reason": "?" });
    assert_eq!(fixture.call_text("cancel_booking", unknown).await.0, OutcomeStatus::NotFound);
}

#[tokio::test]
async fn a_booking_made_and_cancelled_in_one_turn_frees_its_places() {
    let mut fixture = Fixture::new().await;
    let table = fixture.put(ORG, 1, &product("Table", 1, None)).await;
    let booked = fixture.call_json("create_booking", at(table, "2026-11-20T19:30", 1)).await;
    let cancel = json!({ "booking_id": booked["booked"]["id"], "reason": "changed their mind" });
    fixture.call_json("cancel_booking", cancel).await;
    fixture.commit().await.unwrap();
    assert!(fixture.try_book(table, "2026-11-20T19:30", 1).await);
}

/// If two turns saw the last place free, the commit of the second fails. Storing the
/// same booking twice stores it once.
#[tokio::test]
async fn two_turns_cannot_book_the_same_place() {
    let mut fixture = Fixture::new().await;
    let table = fixture.put(ORG, 1, &product("Table", 1, None)).await;
    fixture.call_json("create_booking", at(table, "2026-11-20T19:30", 1)).await;
    let first = std::mem::take(&mut fixture.pending);
    fixture.call_json("create_booking", at(table, "2026-11-20T20:00", 1)).await;
    let second = std::mem::replace(&mut fixture.pending, first.clone());
    fixture.commit().await.unwrap();
    fixture.pending = second;
    let full = fixture.commit().await.unwrap_err();
    assert!(matches!(full, EffectError::NotEnoughPlaces { free: 0, capacity: 1, .. }), "{full}");
    assert!(full.is_conflict());
    fixture.pending = first;
    fixture.commit().await.unwrap();
    assert_eq!(fixture.bookings().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_bookings_get_exactly_the_free_places() {
    let mut fixture = Fixture::new().await;
    let table = fixture.put(ORG, 1, &product("Table", 3, None)).await;
    let mut bookings = Vec::new();
    for _ in 0..12 {
        fixture.call_json("create_booking", at(table, "2026-11-20T19:30", 1)).await;
        let effects = std::mem::take(&mut fixture.pending);
        bookings.push(StoreEffect::try_from(&effects[0]).unwrap());
    }
    let tasks: Vec<_> = bookings
        .into_iter()
        .map(|booking| {
            let store = fixture.store.clone();
            tokio::spawn(async move { effects::apply(&store.org(ORG), &[booking]).await.is_ok() })
        })
        .collect();
    let mut succeeded = 0;
    for task in tasks {
        succeeded += usize::from(task.await.unwrap());
    }
    assert_eq!((fixture.bookings().await.len(), succeeded), (3, 3));
}

/// A05: items of another org cannot be booked, and its bookings not cancelled.
#[tokio::test]
async fn a05_bookings_of_another_org_are_out_of_reach() {
    let mut fixture = Fixture::new().await;
    let theirs = fixture.put(OTHER_ORG, 1, &product("Theirs", 4, None)).await;
    let (status, why) =
        fixture.call_text("create_booking", at(theirs, "2026-11-20T19:30", 1)).await;
    assert_eq!(
        (status, why.contains("There is no product")),
        (OutcomeStatus::NotFound, true),
        "{why}"
    );
    let booking = Booking {
        item: theirs,
        calendar: None,
        name: "Theirs".into(),
        contact: None,
        starts_at: "2026-11-20T19:00:00Z".parse().unwrap(),
        ends_at: "2026-11-20T20:00:00Z".parse().unwrap(),
        quantity: 1,
        status: BookingStatus::Confirmed,
        notes: None,
        cancelled: None,
    };
    let booking = fixture.put(OTHER_ORG, 2, &booking).await;
    let (status, why) =
        fixture.call_text("cancel_booking", json!({ "booking_id": booking, "reason": "x" })).await;
    assert_eq!(
        (status, why.contains("There is no booking")),
        (OutcomeStatus::NotFound, true),
        "{why}"
    );
    let found = fixture.call_json("query_org_data", json!({ "kind": "booking" })).await;
    assert_eq!(found["records"], json!([]));
}
