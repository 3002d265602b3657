//! Tools for contacts.

use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{ContactId, OrgId};
use ostler_engine::outcome::OutcomeStatus;
use ostler_store::StoreError;
use serde_json::{Value, json};

use crate::fixture::{Fixture, ORG, OTHER_ORG};

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

impl Fixture {
    async fn create_contact(&self, org: OrgId, contact: &Contact) -> String {
        self.store.org(org).create_contact(contact.clone()).await.unwrap();
        contact.id.to_string()
    }

    async fn search_names(&mut self, query: &str) -> Vec<String> {
        let found = self.call_json("search_contacts", json!({ "query": query })).await;
        let names = found["contacts"].as_array().unwrap().iter();
        names.map(|contact| contact["name"].as_str().unwrap().to_owned()).collect()
    }

    async fn stored_contacts(&self) -> Vec<Contact> {
        let all = self.store.org(ORG).contacts(None, 100).await.unwrap();
        all.into_iter().map(|stored| stored.contact).collect()
    }
}

#[tokio::test]
async fn contacts_are_found_by_name_tag_phone_and_email() {
    let mut fixture = Fixture::new().await;
    let mut rosa = contact(1, "Rosa Bianchi", Some("Rosa@Example.com"));
    rosa.details.phone = Some("+39 06 1234".into());
    rosa.tags = ["vip".into()].into();
    fixture.create_contact(ORG, &rosa).await;
    fixture.create_contact(ORG, &contact(2, "José Álvarez", None)).await;
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
        assert_eq!(fixture.search_names(query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn uncommitted_changes_are_visible_in_the_turn_and_not_stored() {
    let mut fixture = Fixture::new().await;
    let made =
        fixture.call_json("create_contact", json!({ "name": "Rosa", "phone": "+39 06 1" })).await;
    let id = made["created"]["id"].clone();
    assert_eq!(fixture.search_names("rosa").await, ["Rosa"]);
    let changes = json!({ "contact_id": id, "changes": { "name": "Rosa B.", "tags": ["VIP"] } });
    fixture.call_json("update_contact", changes).await;
    assert_eq!(fixture.search_names("+39061").await, ["Rosa B."]);
    assert_eq!(fixture.stored_contacts().await, []);
    fixture.commit().await.unwrap();
    let stored = fixture.stored_contacts().await;
    assert_eq!((stored.len(), stored[0].name.as_str()), (1, "Rosa B."));
    assert!(stored[0].tags.contains("vip"));

    fixture.call_json("delete_contact", json!({ "contact_id": id })).await;
    assert_eq!(fixture.search_names("").await, [""; 0]);
    let again = fixture.call_text("delete_contact", json!({ "contact_id": id })).await;
    assert_eq!(again.0, OutcomeStatus::NotFound, "{}", again.1);
    assert_eq!(fixture.stored_contacts().await.len(), 1);
    fixture.commit().await.unwrap();
    assert_eq!(fixture.stored_contacts().await, []);
}

#[tokio::test]
async fn a_known_phone_or_email_is_not_saved_twice() {
    let mut fixture = Fixture::new().await;
    let id = fixture.create_contact(ORG, &contact(1, "Rosa", Some("rosa@example.com"))).await;
    let bob = fixture.create_contact(ORG, &contact(2, "Bob", None)).await;
    let rosa = json!({ "name": "R", "email": "ROSA@example.com" });
    let (status, why) = fixture.call_text("create_contact", rosa.clone()).await;
    assert_eq!(status, OutcomeStatus::Refused);
    assert!(!status.is_failure(), "a business rule is not a failure of the tool");
    assert!(why.starts_with("Nothing was saved") && why.contains(&id), "{why}");
    let to_bob = json!({ "contact_id": bob, "changes": { "email": "rosa@example.com" } });
    let (_, why) = fixture.call_text("update_contact", to_bob).await;
    assert!(why.starts_with("Nothing was changed"), "{why}");
    assert_eq!(fixture.pending, []);
}

#[tokio::test]
async fn invalid_arguments_are_explained() {
    let mut fixture = Fixture::new().await;
    let id = fixture.create_contact(ORG, &contact(1, "Rosa", None)).await;
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
        let (status, why) = fixture.call_text(tool, arguments.clone()).await;
        assert_eq!(status, OutcomeStatus::Invalid, "{tool} {arguments}: {why}");
        assert!(why.contains(expected), "{tool} {arguments}: {why}");
    }
}

/// Two calls in parallel do not see each other, and both changes are applied.
#[tokio::test]
async fn parallel_changes_of_one_contact_are_both_applied() {
    let mut fixture = Fixture::new().await;
    let id = fixture.create_contact(ORG, &contact(1, "Rosa", None)).await;
    let change = |changes: Value| json!({ "contact_id": id, "changes": changes });
    fixture.call_json("update_contact", change(json!({ "tags": ["a"] }))).await;
    let first = std::mem::take(&mut fixture.pending);
    fixture.call_json("update_contact", change(json!({ "tags": ["b"], "note": "n" }))).await;
    fixture.pending.extend(first);
    let twice = fixture.pending.clone();
    fixture.commit().await.unwrap();
    fixture.pending = twice;
    fixture.commit().await.unwrap();
    let stored = fixture.stored_contacts().await;
    assert_eq!(stored[0].tags, ["a", "b"].map(String::from).into());
    assert_eq!(stored[0].notes, ["n"]);
}

#[tokio::test]
async fn a_change_of_a_deleted_contact_is_a_conflict() {
    let mut fixture = Fixture::new().await;
    let rosa = contact(1, "Rosa", None);
    let id = fixture.create_contact(ORG, &rosa).await;
    fixture
        .call_json("update_contact", json!({ "contact_id": id, "changes": { "name": "R" } }))
        .await;
    fixture.call_json("create_contact", json!({ "name": "Bob" })).await;
    fixture.store.org(ORG).delete_contact(rosa.id, 1).await.unwrap();
    assert_eq!(
        fixture.search_names("").await,
        ["Bob"],
        "the other effects of the turn are visible"
    );
    let conflict = fixture.commit().await.unwrap_err();
    assert!(conflict.is_conflict(), "{conflict}");
    assert_eq!(fixture.stored_contacts().await, [], "all effects are stored or none");
}

#[tokio::test]
async fn contacts_are_imported_and_invalid_rows_reported() {
    let mut fixture = Fixture::new().await;
    fixture.create_contact(ORG, &contact(1, "Rosa", Some("rosa@example.com"))).await;
    let rows = json!([
        { "name": "Anna", "email": "anna@example.com" },
        { "name": "Anna again", "email": "ANNA@example.com" },
        { "email": "rosa@example.com", "tags": ["new"] },
        { "name": "Bad", "email": "bad" },
        {},
    ]);
    let answer = fixture.call_json("import_contacts", json!({ "contacts": rows })).await;
    assert_eq!([&answer["created"], &answer["updated"], &answer["skipped"]], [1, 0, 2]);
    let wrong: Vec<_> = answer["wrong"].as_array().unwrap().iter().map(|row| &row["row"]).collect();
    assert_eq!(wrong, [4, 5]);
    fixture.pending.clear();
    let update = json!({ "contacts": rows, "on_duplicate": "update" });
    let answer = fixture.call_json("import_contacts", update).await;
    assert_eq!([&answer["created"], &answer["updated"], &answer["skipped"]], [1, 2, 0]);
    fixture.commit().await.unwrap();
    let names: Vec<String> =
        fixture.stored_contacts().await.into_iter().map(|contact| contact.name).collect();
    assert_eq!(names, ["Rosa", "Anna again"]);

    let hundred: Vec<Value> = (0..100).map(|n| json!({ "name": format!("P{n}") })).collect();
    assert_eq!(
        fixture.call_json("import_contacts", json!({ "contacts": hundred })).await["created"],
        100
    );
    let more: Vec<Value> = (0..501).map(|n| json!({ "name": format!("P{n}") })).collect();
    let (status, _) = fixture.call_text("import_contacts", json!({ "contacts": more })).await;
    assert_eq!(status, OutcomeStatus::Invalid);
}

#[tokio::test]
async fn contacts_are_exported_page_by_page() {
    let mut fixture = Fixture::new().await;
    fixture.create_contact(ORG, &contact(1, "Bianchi, \"Rosa\"", Some("rosa@example.com"))).await;
    fixture.create_contact(ORG, &contact(2, "Bob", None)).await;
    let (_, csv) = fixture.call_text("export_contacts", json!({ "page": { "limit": 1 } })).await;
    let first = ContactId::from_u128(1);
    let expected = format!(
        "id,name,phone,email,locale,tags\n{first},\"Bianchi, \"\"Rosa\"\"\",,rosa@example.com,,\n\n\
         There is more. Continue with the cursor {first}"
    );
    assert_eq!(csv, expected);
    let (_, csv) =
        fixture.call_text("export_contacts", json!({ "page": { "cursor": first } })).await;
    assert!(csv.ends_with(",Bob,,,,"), "{csv}");
}

/// A05: no id and no search finds the contacts of another org.
#[tokio::test]
async fn a05_contacts_of_another_org_are_never_found() {
    let mut fixture = Fixture::new().await;
    let theirs =
        fixture.create_contact(OTHER_ORG, &contact(9, "Theirs", Some("theirs@example.com"))).await;
    for query in ["", "theirs", "theirs@example.com"] {
        assert_eq!(fixture.search_names(query).await, [""; 0], "{query}");
    }
    let (_, csv) = fixture.call_text("export_contacts", json!({})).await;
    assert!(!csv.contains("Theirs"), "{csv}");
    let found = fixture.call_json("query_org_data", json!({ "kind": "contact" })).await;
    assert_eq!(found["records"], json!([]));
    for (tool, arguments) in [
        ("update_contact", json!({ "contact_id": theirs, "changes": { "name": "Mine" } })),
        ("delete_contact", json!({ "contact_id": theirs })),
    ] {
        let (status, why) = fixture.call_text(tool, arguments).await;
        assert_eq!(
            (status, why.contains("There is no contact")),
            (OutcomeStatus::NotFound, true),
            "{why}"
        );
    }
    // Even a forged effect does not change them.
    let (id, forged) = (ContactId::from_u128(9), ostler_tools::effects::ContactPatch::default());
    let effect = ostler_tools::effects::StoreEffect::UpdateContact { id, patch: forged };
    fixture.pending = vec![effect.into()];
    assert!(fixture.commit().await.unwrap_err().is_conflict());
    assert!(matches!(
        fixture.store.org(ORG).delete_contact(id, 1).await,
        Err(StoreError::NotFound(_))
    ));
    assert_eq!(fixture.store.org(OTHER_ORG).contact(id).await.unwrap().version, 1);
}
