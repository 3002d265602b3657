//! Bookings: places are taken once.

use ostler_domain::id::{ContactId, RecordId};
use ostler_engine::outcome::Status;
use ostler_tools::effects::{self, EffectError, StoreEffect};
use ostler_tools::records::{Bookable, Booking, BookingStatus, Entity, Event, Product, Resource};
use serde_json::{Value, json};

use crate::world::{ORG, OTHER, World};

fn product(name: &str, capacity: u32, resource: Option<RecordId>) -> Product {
    Product {
        name: name.into(),
        description: String::new(),
        price: None,
        tags: [].into(),
        active: true,
        bookable: Some(Bookable { capacity, duration_minutes: 60, resource }),
    }
}

fn concert(capacity: Option<u32>) -> Event {
    Event {
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

impl World {
    async fn books(&mut self, item: RecordId, time: &str, quantity: u32) -> bool {
        let (status, said) = self.said("create_booking", at(item, time, quantity)).await;
        assert_eq!(status, Status::Ok, "{said}");
        said.contains("\"booked\"") || !said.starts_with("Not booked")
    }

    async fn bookings(&self) -> Vec<Booking> {
        let all = self.store.org(ORG).records(Booking::KIND, None, 100).await.unwrap();
        all.iter().map(|record| serde_json::from_str(&record.data).unwrap()).collect()
    }
}

#[tokio::test]
async fn a_booking_is_stored_with_the_turn_and_seen_before() {
    let mut world = World::new().await;
    let table = world.put(ORG, 1, &product("Table", 4, None)).await;
    world.contact = Some(ContactId::from_u128(7));
    let booked = world.ok("create_booking", at(table, "2026-11-20T19:30", 2)).await;
    let booked = &booked["booked"];
    assert_eq!(booked["starts_at"], "2026-11-20T19:30:00+01:00[Europe/Rome]");
    assert_eq!(booked["ends_at"], "2026-11-20T20:30:00+01:00[Europe/Rome]");
    assert_eq!(world.bookings().await, []);
    let filter = json!([{ "field": "contact", "op": "eq", "value": ContactId::from_u128(7) }]);
    let query = json!({ "kind": "booking", "filter": filter, "fields": ["name"] });
    let expected = json!({ "records": [{ "id": booked["id"], "name": "Table" }] });
    assert_eq!(world.ok("query_org_data", query.clone()).await, expected);
    world.commit().await.unwrap();
    assert_eq!(world.ok("query_org_data", query).await, expected);
    assert_eq!(world.bookings().await.len(), 1);
}

#[tokio::test]
async fn places_are_taken_once() {
    let mut world = World::new().await;
    let table = world.put(ORG, 1, &product("Table", 4, None)).await;
    for (time, quantity, expected) in [
        ("2026-11-20T19:00", 3, true),
        ("2026-11-20T19:30", 2, false),
        ("2026-11-20T19:30", 1, true),
        ("2026-11-20T19:59", 1, false),
        ("2026-11-20T20:00", 3, true),
        ("2026-11-20T18:00", 4, true),
        ("2026-11-20T12:00", 5, false),
    ] {
        assert_eq!(world.books(table, time, quantity).await, expected, "{time} {quantity}");
    }
    let (_, why) = world.said("create_booking", at(table, "2026-11-20T19:00", 2)).await;
    assert_eq!(why, "Not booked: `Table` has 0 of 4 places left at that time. Offer another time.");
    world.commit().await.unwrap();
    assert_eq!(world.bookings().await.len(), 4);
    assert!(!world.books(table, "2026-11-20T19:00", 1).await, "what is stored counts too");
}

#[tokio::test]
async fn products_share_a_resource() {
    let mut world = World::new().await;
    let room = world.put(ORG, 1, &Resource { name: "Room".into(), capacity: 1 }).await;
    let massage = world.put(ORG, 2, &product("Massage", 9, Some(room))).await;
    let facial = world.put(ORG, 3, &product("Facial", 9, Some(room))).await;
    assert!(world.books(massage, "2026-11-20T10:00", 1).await);
    assert!(!world.books(facial, "2026-11-20T10:30", 1).await);
    assert!(world.books(facial, "2026-11-20T11:00", 1).await);
}

#[tokio::test]
async fn a_booking_over_midnight_takes_both_days() {
    let mut world = World::new().await;
    let room = world.put(ORG, 1, &product("Room", 1, None)).await;
    let three_nights =
        json!({ "item_id": room, "starts_at": "2026-11-20T15:00", "duration_minutes": 4200 });
    world.ok("create_booking", three_nights).await;
    for (time, free) in [
        ("2026-11-20T14:01", false),
        ("2026-11-20T14:00", true),
        ("2026-11-22T09:00", false),
        ("2026-11-23T12:30", false),
        ("2026-11-23T13:00", true),
    ] {
        let before = world.pending.clone();
        assert_eq!(world.books(room, time, 1).await, free, "{time}");
        world.pending = before;
    }
}

/// The places of an event are taken whenever it is: also if nobody knows when it
/// ends, and if it is put off after people have booked.
#[tokio::test]
async fn an_event_has_so_many_places_whenever_it_is() {
    let mut world = World::new().await;
    let endless = Event { ends_at: concert(None).starts_at, ..concert(Some(2)) };
    let event = world.put(ORG, 1, &endless).await;
    let places = |quantity: u32| json!({ "item_id": event, "quantity": quantity });
    let booked = world.ok("create_booking", places(2)).await;
    world.commit().await.unwrap();
    let full = "0 of 2 places left";
    assert!(world.said("create_booking", places(1)).await.1.contains(full));
    let read = world.store.org(ORG).record(Event::KIND, event).await.unwrap();
    let later = "2026-12-20T19:00:00Z".parse().unwrap();
    let put_off = Event { starts_at: later, ends_at: later, ..endless }.to_data().unwrap();
    world.store.org(ORG).update_record(Event::KIND, &read, put_off).await.unwrap();
    assert!(world.said("create_booking", places(1)).await.1.contains(full));
    let cancel = json!({ "booking_id": booked["booked"]["id"], "reason": "ill" });
    world.ok("cancel_booking", cancel).await;
    world.ok("create_booking", places(2)).await;
    world.commit().await.unwrap();
    assert!(world.said("create_booking", places(1)).await.1.contains(full));
}

#[tokio::test]
async fn an_event_has_its_own_time() {
    let mut world = World::new().await;
    let event = world.put(ORG, 1, &concert(Some(2))).await;
    let free = world.put(ORG, 2, &concert(None)).await;
    let booked = world.ok("create_booking", json!({ "item_id": event, "quantity": 2 })).await;
    assert_eq!(booked["booked"]["starts_at"], "2026-11-20T20:00:00+01:00[Europe/Rome]");
    let (_, why) = world.said("create_booking", json!({ "item_id": event })).await;
    assert!(why.contains("0 of 2 places left"), "{why}");
    for (arguments, expected) in [
        (at(event, "2026-11-21T20:00", 1), "leave starts_at out"),
        (json!({ "item_id": free }), "cannot be booked"),
    ] {
        let (status, why) = world.said("create_booking", arguments).await;
        assert_eq!((status, why.contains(expected)), (Status::Invalid, true), "{why}");
    }
}

#[tokio::test]
async fn what_cannot_be_booked_is_said_in_words_to_correct_it() {
    let mut world = World::new().await;
    let table = world.put(ORG, 1, &product("Table", 4, None)).await;
    let old = Product { active: false, ..product("Old", 4, None) };
    let old = world.put(ORG, 2, &old).await;
    let nothing = RecordId::from_u128(77);
    let nobody = ContactId::from_u128(78);
    for (arguments, expected) in [
        (at(table, "2026-11-15T13:30", 1), "is over; it is 2026-11-15T14:00:00+01:00"),
        (at(table, "2062-11-15T13:30", 1), "too far ahead"),
        (at(table, "tomorrow", 1), "is not a time. Write it as"),
        (at(table, "2027-03-28T02:30", 1), "Clocks change in Europe/Rome"),
        (json!({ "item_id": table }), "Say when"),
        (at(table, "2026-11-20T19:30", 0), "minimum"),
        (at(old, "2026-11-20T19:30", 1), "cannot be booked"),
        (at(nothing, "2026-11-20T19:30", 1), "There is no product or event"),
        (
            json!({ "item_id": table, "starts_at": "2026-11-20T19:30", "contact_id": nobody }),
            "There is no contact",
        ),
    ] {
        let (status, why) = world.said("create_booking", arguments.clone()).await;
        assert_eq!((status, why.contains(expected)), (Status::Invalid, true), "{arguments}: {why}");
    }
    assert_eq!(world.pending, []);
}

#[tokio::test]
async fn a_cancelled_place_is_free_again() {
    let mut world = World::new().await;
    let table = world.put(ORG, 1, &product("Table", 1, None)).await;
    let booked = world.ok("create_booking", at(table, "2026-11-20T19:30", 1)).await;
    world.commit().await.unwrap();
    let cancel = json!({ "booking_id": booked["booked"]["id"], "reason": "ill" });
    world.ok("cancel_booking", cancel.clone()).await;
    assert!(world.books(table, "2026-11-20T19:30", 1).await, "in the same turn");
    let (status, why) = world.said("cancel_booking", cancel).await;
    assert_eq!((status, why.contains("was cancelled before")), (Status::Ok, true), "{why}");
    world.commit().await.unwrap();
    let bookings = world.bookings().await;
    let cancelled = bookings.iter().filter(|one| one.status == BookingStatus::Cancelled);
    assert_eq!((cancelled.count(), bookings.len()), (1, 2));
    let unknown = json!({ "booking_id": RecordId::from_u128(5), "reason": "?" });
    assert_eq!(world.said("cancel_booking", unknown).await.0, Status::Invalid);
}

#[tokio::test]
async fn a_booking_made_and_cancelled_in_one_turn_leaves_nothing_taken() {
    let mut world = World::new().await;
    let table = world.put(ORG, 1, &product("Table", 1, None)).await;
    let booked = world.ok("create_booking", at(table, "2026-11-20T19:30", 1)).await;
    let cancel = json!({ "booking_id": booked["booked"]["id"], "reason": "changed their mind" });
    world.ok("cancel_booking", cancel).await;
    world.commit().await.unwrap();
    assert!(world.books(table, "2026-11-20T19:30", 1).await);
}

/// Two turns that each saw the last place: one gets it, the other is told when it
/// is stored; and whoever stores the same twice has it once.
#[tokio::test]
async fn two_turns_do_not_get_the_same_place() {
    let mut world = World::new().await;
    let table = world.put(ORG, 1, &product("Table", 1, None)).await;
    world.ok("create_booking", at(table, "2026-11-20T19:30", 1)).await;
    let first = std::mem::take(&mut world.pending);
    world.ok("create_booking", at(table, "2026-11-20T20:00", 1)).await;
    let second = std::mem::replace(&mut world.pending, first.clone());
    world.commit().await.unwrap();
    world.pending = second;
    let full = world.commit().await.unwrap_err();
    assert!(matches!(full, EffectError::Full { free: 0, capacity: 1, .. }), "{full}");
    assert!(full.is_conflict());
    world.pending = first;
    world.commit().await.unwrap();
    assert_eq!(world.bookings().await.len(), 1);
}

/// However many book at the same moment, there are as many bookings as places.
#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_gets_as_many_places_as_there_are() {
    let mut world = World::new().await;
    let table = world.put(ORG, 1, &product("Table", 3, None)).await;
    let mut wishes = Vec::new();
    for _ in 0..12 {
        world.ok("create_booking", at(table, "2026-11-20T19:30", 1)).await;
        let effects = std::mem::take(&mut world.pending);
        wishes.push(StoreEffect::try_from(&effects[0]).unwrap());
    }
    let tasks: Vec<_> = wishes
        .into_iter()
        .map(|wish| {
            let store = world.store.clone();
            tokio::spawn(async move { effects::apply(&store.org(ORG), &[wish]).await.is_ok() })
        })
        .collect();
    let mut got = 0;
    for task in tasks {
        got += usize::from(task.await.unwrap());
    }
    // Whoever had to look again lost to one of the three.
    assert_eq!((world.bookings().await.len(), got), (3, 3));
}

/// A05: what another org offers cannot be booked, nor its bookings cancelled.
#[tokio::test]
async fn a05_bookings_of_another_org_are_out_of_reach() {
    let mut world = World::new().await;
    let theirs = world.put(OTHER, 1, &product("Theirs", 4, None)).await;
    let (status, why) = world.said("create_booking", at(theirs, "2026-11-20T19:30", 1)).await;
    assert_eq!((status, why.contains("There is no product")), (Status::Invalid, true), "{why}");
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
    let booking = world.put(OTHER, 2, &booking).await;
    let (status, why) =
        world.said("cancel_booking", json!({ "booking_id": booking, "reason": "x" })).await;
    assert_eq!((status, why.contains("There is no booking")), (Status::Invalid, true), "{why}");
    let found = world.ok("query_org_data", json!({ "kind": "booking" })).await;
    assert_eq!(found["records"], json!([]));
}
