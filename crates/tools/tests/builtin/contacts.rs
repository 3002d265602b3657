//! Contacts: found, saved, changed, forgotten.

use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{ContactId, OrgId};
use ostler_engine::outcome::Status;
use ostler_store::StoreError;
use serde_json::{Value, json};

use crate::world::{ORG, OTHER, World};

fn contact(id: u128, name: &str, email: Option<&str>) -> Contact {
    Contact {
        id: ContactId::from_u128(id),
        name: name.into(),
        details: ContactDetails { phone: None, email: email.map(Into::into) },
        locale: None,
        tags: [].into(),
        notes: vec![],
        crm: None,
    }
}

impl World {
    async fn know(&self, org: OrgId, contact: &Contact) -> String {
        self.store.org(org).create_contact(contact.clone()).await.unwrap();
        contact.id.to_string()
    }

    async fn names(&mut self, query: &str) -> Vec<String> {
        let found = self.ok("search_contacts", json!({ "query": query })).await;
        let names = found["contacts"].as_array().unwrap().iter();
        names.map(|contact| contact["name"].as_str().unwrap().to_owned()).collect()
    }

    async fn stored(&self) -> Vec<Contact> {
        let all = self.store.org(ORG).contacts(None, 100).await.unwrap();
        all.into_iter().map(|stored| stored.contact).collect()
    }
}

#[tokio::test]
async fn people_are_found_by_what_is_known_of_them() {
    let mut world = World::new().await;
    let mut rosa = contact(1, "Rosa Bianchi", Some("Rosa@Example.com"));
    rosa.details.phone = Some("+39 06 1234".into());
    rosa.tags = ["vip".into()].into();
    world.know(ORG, &rosa).await;
    world.know(ORG, &contact(2, "José Álvarez", None)).await;
    for (query, expected) in [
        ("rosa", vec!["Rosa Bianchi"]),
        ("bian ros", vec!["Rosa Bianchi"]),
        ("osa", vec![]),
        ("+39061234", vec!["Rosa Bianchi"]),
        ("ROSA@example.com", vec!["Rosa Bianchi"]),
        ("vip", vec!["Rosa Bianchi"]),
        ("jose alvarez", vec!["José Álvarez"]),
        ("", vec!["Rosa Bianchi", "José Álvarez"]),
        ("nobody", vec![]),
    ] {
        assert_eq!(world.names(query).await, expected, "{query}");
    }
}

/// Nothing is written before the turn is committed, and the same turn sees it.
#[tokio::test]
async fn a_turn_sees_what_it_has_not_stored_yet() {
    let mut world = World::new().await;
    let made = world.ok("create_contact", json!({ "name": "Rosa", "phone": "+39 06 1" })).await;
    let id = made["created"]["id"].clone();
    assert_eq!(world.names("rosa").await, ["Rosa"]);
    let changes = json!({ "contact_id": id, "changes": { "name": "Rosa B.", "tags": ["VIP"] } });
    world.ok("update_contact", changes).await;
    assert_eq!(world.names("+39061").await, ["Rosa B."]);
    assert_eq!(world.stored().await, []);
    world.commit().await.unwrap();
    let stored = world.stored().await;
    assert_eq!((stored.len(), stored[0].name.as_str()), (1, "Rosa B."));
    assert!(stored[0].tags.contains("vip"));

    world.ok("delete_contact", json!({ "contact_id": id })).await;
    assert_eq!(world.names("").await, [""; 0]);
    let again = world.said("delete_contact", json!({ "contact_id": id })).await;
    assert_eq!(again.0, Status::Invalid, "{}", again.1);
    assert_eq!(world.stored().await.len(), 1);
    world.commit().await.unwrap();
    assert_eq!(world.stored().await, []);
}

#[tokio::test]
async fn nobody_is_saved_twice() {
    let mut world = World::new().await;
    let id = world.know(ORG, &contact(1, "Rosa", Some("rosa@example.com"))).await;
    let bob = world.know(ORG, &contact(2, "Bob", None)).await;
    let rosa = json!({ "name": "R", "email": "ROSA@example.com" });
    let (status, why) = world.said("create_contact", rosa.clone()).await;
    assert_eq!(status, Status::Ok, "the business says no; the tool has not failed");
    assert!(why.starts_with("Nothing was saved") && why.contains(&id), "{why}");
    let to_bob = json!({ "contact_id": bob, "changes": { "email": "rosa@example.com" } });
    let (_, why) = world.said("update_contact", to_bob).await;
    assert!(why.starts_with("Nothing was changed"), "{why}");
    assert_eq!(world.pending, []);
}

#[tokio::test]
async fn what_cannot_be_right_is_said() {
    let mut world = World::new().await;
    let id = world.know(ORG, &contact(1, "Rosa", None)).await;
    for (tool, arguments, expected) in [
        ("create_contact", json!({ "name": " " }), "needs a name"),
        ("create_contact", json!({ "name": "R", "email": "rosa" }), "not an e-mail address"),
        ("create_contact", json!({ "name": "R", "phone": "call me" }), "not a telephone number"),
        ("create_contact", json!({ "name": "R", "age": 7 }), "age"),
        ("create_contact", json!({ "name": "x".repeat(201) }), "200"),
        ("update_contact", json!({ "contact_id": id, "changes": {} }), "Say what"),
        ("update_contact", json!({ "contact_id": "rosa", "changes": {} }), "con_"),
        ("search_contacts", json!({ "page": { "cursor": "rec_1" } }), "cursor"),
        ("search_contacts", json!({ "page": { "limit": 51 } }), "50"),
    ] {
        let (status, why) = world.said(tool, arguments.clone()).await;
        assert_eq!(status, Status::Invalid, "{tool} {arguments}: {why}");
        assert!(why.contains(expected), "{tool} {arguments}: {why}");
    }
}

/// Two calls that were made at the same time do not know of each other, and both
/// count.
#[tokio::test]
async fn two_changes_of_one_contact_get_along() {
    let mut world = World::new().await;
    let id = world.know(ORG, &contact(1, "Rosa", None)).await;
    let change = |changes: Value| json!({ "contact_id": id, "changes": changes });
    world.ok("update_contact", change(json!({ "tags": ["a"] }))).await;
    let first = std::mem::take(&mut world.pending);
    world.ok("update_contact", change(json!({ "tags": ["b"], "note": "n" }))).await;
    world.pending.extend(first);
    let twice = world.pending.clone();
    world.commit().await.unwrap();
    world.pending = twice;
    world.commit().await.unwrap();
    let stored = world.stored().await;
    assert_eq!(stored[0].tags, ["a", "b"].map(String::from).into());
    assert_eq!(stored[0].notes, ["n"]);
}

#[tokio::test]
async fn a_change_of_somebody_who_is_gone_is_a_conflict() {
    let mut world = World::new().await;
    let rosa = contact(1, "Rosa", None);
    let id = world.know(ORG, &rosa).await;
    world.ok("update_contact", json!({ "contact_id": id, "changes": { "name": "R" } })).await;
    world.ok("create_contact", json!({ "name": "Bob" })).await;
    world.store.org(ORG).delete_contact(rosa.id, 1).await.unwrap();
    assert_eq!(world.names("").await, ["Bob"], "what is left of the turn is seen");
    let conflict = world.commit().await.unwrap_err();
    assert!(conflict.is_conflict(), "{conflict}");
    assert_eq!(world.stored().await, [], "all of it or nothing");
}

#[tokio::test]
async fn many_are_imported_at_once() {
    let mut world = World::new().await;
    world.know(ORG, &contact(1, "Rosa", Some("rosa@example.com"))).await;
    let rows = json!([
        { "name": "Anna", "email": "anna@example.com" },
        { "name": "Anna again", "email": "ANNA@example.com" },
        { "email": "rosa@example.com", "tags": ["new"] },
        { "name": "Bad", "email": "bad" },
        {},
    ]);
    let told = world.ok("import_contacts", json!({ "contacts": rows })).await;
    assert_eq!([&told["created"], &told["updated"], &told["skipped"]], [1, 0, 2]);
    let wrong: Vec<_> = told["wrong"].as_array().unwrap().iter().map(|row| &row["row"]).collect();
    assert_eq!(wrong, [4, 5]);
    world.pending.clear();
    let update = json!({ "contacts": rows, "on_duplicate": "update" });
    let told = world.ok("import_contacts", update).await;
    assert_eq!([&told["created"], &told["updated"], &told["skipped"]], [1, 2, 0]);
    world.commit().await.unwrap();
    let names: Vec<String> = world.stored().await.into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["Rosa", "Anna again"]);

    let hundred: Vec<Value> = (0..100).map(|n| json!({ "name": format!("P{n}") })).collect();
    assert_eq!(world.ok("import_contacts", json!({ "contacts": hundred })).await["created"], 100);
    let more: Vec<Value> = (0..101).map(|n| json!({ "name": format!("P{n}") })).collect();
    let (status, _) = world.said("import_contacts", json!({ "contacts": more })).await;
    assert_eq!(status, Status::Invalid);
}

#[tokio::test]
async fn contacts_are_exported_page_by_page() {
    let mut world = World::new().await;
    world.know(ORG, &contact(1, "Bianchi, \"Rosa\"", Some("rosa@example.com"))).await;
    world.know(ORG, &contact(2, "Bob", None)).await;
    let (_, csv) = world.said("export_contacts", json!({ "page": { "limit": 1 } })).await;
    let first = ContactId::from_u128(1);
    let expected = format!(
        "id,name,phone,email,locale,tags\n{first},\"Bianchi, \"\"Rosa\"\"\",,rosa@example.com,,\n\n\
         There is more: go on with the cursor {first}"
    );
    assert_eq!(csv, expected);
    let (_, csv) = world.said("export_contacts", json!({ "page": { "cursor": first } })).await;
    assert!(csv.ends_with(",Bob,,,,"), "{csv}");
}

/// A05: whatever id or word is used, another org's people are not found.
#[tokio::test]
async fn a05_contacts_of_another_org_are_never_found() {
    let mut world = World::new().await;
    let theirs = world.know(OTHER, &contact(9, "Theirs", Some("theirs@example.com"))).await;
    for query in ["", "theirs", "theirs@example.com"] {
        assert_eq!(world.names(query).await, [""; 0], "{query}");
    }
    let (_, csv) = world.said("export_contacts", json!({})).await;
    assert!(!csv.contains("Theirs"), "{csv}");
    let found = world.ok("query_org_data", json!({ "kind": "contact" })).await;
    assert_eq!(found["records"], json!([]));
    for (tool, arguments) in [
        ("update_contact", json!({ "contact_id": theirs, "changes": { "name": "Mine" } })),
        ("delete_contact", json!({ "contact_id": theirs })),
    ] {
        let (status, why) = world.said(tool, arguments).await;
        assert_eq!((status, why.contains("There is no contact")), (Status::Invalid, true), "{why}");
    }
    // Even an effect that names them changes nothing of theirs.
    let (id, forged) = (ContactId::from_u128(9), ostler_tools::effects::ContactPatch::default());
    let effect = ostler_tools::effects::StoreEffect::UpdateContact { id, patch: forged };
    world.pending = vec![effect.into()];
    assert!(world.commit().await.unwrap_err().is_conflict());
    assert!(matches!(
        world.store.org(ORG).delete_contact(id, 1).await,
        Err(StoreError::NotFound(_))
    ));
    assert_eq!(world.store.org(OTHER).contact(id).await.unwrap().version, 1);
}
