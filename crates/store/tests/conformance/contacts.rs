//! Contacts and how they are recognized by their identifiers.

use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails, CrmLink};
use ostler_domain::id::ContactId;
use ostler_store::{ContactResolution, Store, StoreError};

use crate::on_every_backend;
use crate::support::{next, with_org};

fn contact(name: &str) -> Contact {
    Contact {
        id: ContactId::from_u128(next()),
        name: name.into(),
        details: ContactDetails::default(),
        locale: None,
        tags: [].into(),
        notes: vec![],
        crm: None,
    }
}

fn rosa() -> Contact {
    let details = ContactDetails {
        phone: Some("+39 06 1234".into()),
        email: Some("Rosa@example.com".into()),
    };
    Contact {
        details,
        locale: Some("it-IT".into()),
        tags: ["vip".into()].into(),
        notes: vec!["likes the window".into()],
        crm: Some(CrmLink { system: "hubspot".into(), id: "77".into() }),
        ..contact("Rosa")
    }
}

on_every_backend!(contacts_round_trip_and_are_listed_in_pages);
async fn contacts_round_trip_and_are_listed_in_pages(store: &Store) {
    let org = with_org(store, 1).await;
    let all = [rosa(), contact("Bob"), contact("Carl")];
    for contact in &all {
        let created = store.org(org).create_contact(contact.clone()).await.unwrap();
        assert_eq!((&created.contact, created.version), (contact, 1));
        assert_eq!(store.org(org).contact(contact.id).await.unwrap(), created);
    }
    let twice = store.org(org).create_contact(all[0].clone()).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))));
    let page = async |after, most| -> Vec<Contact> {
        let page = store.org(org).contacts(after, most).await.unwrap();
        page.into_iter().map(|stored| stored.contact).collect()
    };
    assert_eq!(page(None, 2).await, all[..2]);
    assert_eq!(page(Some(all[1].id), 2).await, all[2..]);
}

on_every_backend!(updating_a_contact_with_a_stale_version_conflicts);
async fn updating_a_contact_with_a_stale_version_conflicts(store: &Store) {
    let org = with_org(store, 1).await;
    let read = store.org(org).create_contact(rosa()).await.unwrap();
    let mut moved = read.contact.clone();
    moved.details = ContactDetails { phone: Some("+39 02 99".into()), email: None };
    let changed = store.org(org).update_contact(read.version, moved.clone()).await.unwrap();
    assert_eq!((&changed.contact, changed.version), (&moved, 2));
    assert_eq!(changed.created_at, read.created_at);
    let late = store.org(org).update_contact(read.version, read.contact).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))));
    assert_eq!(store.org(org).contact_by_phone("+390299").await.unwrap(), Some(changed));
    assert_eq!(store.org(org).contact_by_phone("+39061234").await.unwrap(), None);
    assert_eq!(store.org(org).contact_by_email("rosa@example.com").await.unwrap(), None);
}

on_every_backend!(
    /// A12: phone channels match on the number without white space, all channels
    /// on the e-mail address whatever its case; no match is an answer.
    a12_a_contact_is_recognized_by_phone_or_email
);
async fn a12_a_contact_is_recognized_by_phone_or_email(store: &Store) {
    let org = with_org(store, 1).await;
    let rosa = store.org(org).create_contact(rosa()).await.unwrap();
    store.org(org).create_contact(contact("Nobody")).await.unwrap();
    // A younger contact with the same details does not hide the older one.
    let twin = Contact { details: rosa.contact.details.clone(), ..contact("Twin") };
    store.org(org).create_contact(twin).await.unwrap();
    let table = [
        ("sms", "+39061234", true),
        ("whatsapp", "+39 0612 34", true),
        ("sms", "+39061235", false),
        ("telegram", "+39061234", false),
        ("email", "rosa@EXAMPLE.com ", true),
        ("webchat", "rosa@example.com", true),
        ("sms", "rosa@example.com", true),
        ("webchat", "", false),
        ("sms", " ", false),
        ("email", "%", false),
    ];
    for (channel, identifier, expected) in table {
        let found = store.org(org).recognize(&Channel::from(channel), identifier).await.unwrap();
        assert_eq!(found.is_some(), expected, "{channel} {identifier}");
        assert!(found.is_none_or(|found| found == rosa), "{channel} {identifier}");
    }
    assert_eq!(store.org(org).contact_by_phone(" +390 61234").await.unwrap(), Some(rosa.clone()));
    assert_eq!(store.org(org).contact_by_email("ROSA@example.com").await.unwrap(), Some(rosa));
    assert_eq!(store.org(org).contact_by_phone(" ").await.unwrap(), None);
}

on_every_backend!(
    /// A12: a recognized identifier stays linked to its contact even after the
    /// contact's details have changed.
    a12_a_recognized_identifier_stays_linked_after_details_change
);
async fn a12_a_recognized_identifier_stays_linked_after_details_change(store: &Store) {
    let org = with_org(store, 1).await;
    let known = store.org(org).create_contact(rosa()).await.unwrap();
    let found =
        store.org(org).recognize_or_create(&Channel::Sms, "+39061234", contact("new")).await;
    assert_eq!(found.unwrap(), ContactResolution::Known(known.clone()));
    let mut moved = known.contact.clone();
    moved.details = ContactDetails::default();
    let moved = store.org(org).update_contact(1, moved).await.unwrap();
    let found = store.org(org).recognize(&Channel::Sms, "+39 06 1234").await.unwrap();
    assert_eq!(found.as_ref(), Some(&moved));
    let again =
        store.org(org).recognize_or_create(&Channel::Sms, "+39 061234", contact("new")).await;
    assert_eq!(again.unwrap(), ContactResolution::Known(moved));
    let names = store.org(org).identifiers(known.contact.id, 10).await.unwrap();
    assert_eq!(names, [(Channel::Sms, "+39061234".to_owned())]);
    assert_eq!(store.org(org).contacts(None, 10).await.unwrap().len(), 1);
}

on_every_backend!(concurrent_recognition_creates_one_contact);
async fn concurrent_recognition_creates_one_contact(store: &Store) {
    let org = with_org(store, 1).await;
    // The same person on two channels at the same time, by the same number.
    let asking = (0..16).map(|n| {
        let store = store.clone();
        let channel = if n % 2 == 0 { Channel::Sms } else { Channel::Whatsapp };
        let details = ContactDetails { phone: Some("+39061234".into()), email: None };
        let new = Contact { details, ..contact(&format!("new {n}")) };
        tokio::spawn(async move {
            store.org(org).recognize_or_create(&channel, "+39 06 1234", new).await.unwrap()
        })
    });
    let (mut created, mut known) = (Vec::new(), Vec::new());
    for asked in asking.collect::<Vec<_>>() {
        match asked.await.unwrap() {
            ContactResolution::Created(stored) => created.push(stored),
            ContactResolution::Known(stored) => known.push(stored),
        }
    }
    assert_eq!((created.len(), known.len()), (1, 15));
    assert!(known.iter().all(|stored| *stored == created[0]));
    assert_eq!(store.org(org).contacts(None, 10).await.unwrap(), created);
    let names = store.org(org).identifiers(created[0].contact.id, 10).await.unwrap();
    let number = "+39061234".to_owned();
    assert_eq!(names, [(Channel::Sms, number.clone()), (Channel::Whatsapp, number)]);
}

on_every_backend!(an_identifier_belongs_to_one_contact);
async fn an_identifier_belongs_to_one_contact(store: &Store) {
    let org = with_org(store, 1).await;
    let (ada, bob) = (contact("Ada"), contact("Bob"));
    for contact in [&ada, &bob] {
        store.org(org).create_contact(contact.clone()).await.unwrap();
    }
    let link = async |contact: &Contact, channel: Channel, name: &str| {
        store.org(org).link_identifier(contact.id, &channel, name).await
    };
    link(&ada, Channel::Telegram, "1001").await.unwrap();
    link(&ada, Channel::Telegram, " 1001").await.unwrap();
    link(&bob, Channel::Webchat, "1001").await.unwrap();
    let grabbed = link(&bob, Channel::Telegram, "1001").await;
    assert!(matches!(grabbed, Err(StoreError::Conflict(_))), "{grabbed:?}");
    let empty = link(&bob, Channel::Telegram, " ").await;
    assert!(matches!(empty, Err(StoreError::NotFound("identifier"))), "{empty:?}");
    let found = store.org(org).recognize(&Channel::Telegram, "1001").await.unwrap().unwrap();
    assert_eq!(found.contact, ada);
    let nobody = store.org(org).recognize_or_create(&Channel::Webchat, "", contact("Nobody")).await;
    assert!(matches!(nobody, Err(StoreError::NotFound("identifier"))), "{nobody:?}");
    assert_eq!(store.org(org).contacts(None, 10).await.unwrap().len(), 2);
}

on_every_backend!(linking_and_recognizing_concurrently_agree_on_one_contact);
async fn linking_and_recognizing_concurrently_agree_on_one_contact(store: &Store) {
    let org = with_org(store, 1).await;
    let ada = contact("Ada");
    store.org(org).create_contact(ada.clone()).await.unwrap();
    for round in 0..8 {
        let (name, new) = (format!("{round}"), contact("new"));
        let (linking, writing) = (store.clone(), store.clone());
        let (linked_name, id) = (name.clone(), ada.id);
        let linked = tokio::spawn(async move {
            linking.org(org).link_identifier(id, &Channel::Telegram, &linked_name).await
        });
        let resolved = writing.org(org).recognize_or_create(&Channel::Telegram, &name, new).await;
        let (linked, resolved) = (linked.await.unwrap(), resolved.unwrap());
        let answered = match (resolved, linked) {
            (ContactResolution::Known(stored), Ok(())) => stored,
            (ContactResolution::Created(stored), Err(StoreError::Conflict(_))) => stored,
            other => panic!("{other:?}"),
        };
        let found = store.org(org).recognize(&Channel::Telegram, &name).await.unwrap();
        assert_eq!(found, Some(answered), "round {round}");
    }
}

on_every_backend!(
    /// A05: a contact of another org is found by no identifier and cannot be changed.
    a05_a_foreign_contact_is_not_found
);
async fn a05_a_foreign_contact_is_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let mine = rosa();
    store.org(here).recognize_or_create(&Channel::Telegram, "1001", mine.clone()).await.unwrap();
    let read = store.org(there).contact(mine.id).await;
    assert!(matches!(read, Err(StoreError::NotFound("contact"))));
    let changed = store.org(there).update_contact(1, mine.clone()).await;
    assert!(matches!(changed, Err(StoreError::NotFound("contact"))));
    let linked = store.org(there).link_identifier(mine.id, &Channel::Telegram, "7").await;
    assert!(matches!(linked, Err(StoreError::NotFound("contact"))));
    let named = store.org(there).identifiers(mine.id, 10).await;
    assert!(matches!(named, Err(StoreError::NotFound("contact"))));
    for (channel, name) in [
        (Channel::Telegram, "1001"),
        (Channel::Sms, "+39061234"),
        (Channel::Email, "rosa@example.com"),
    ] {
        assert_eq!(store.org(there).recognize(&channel, name).await.unwrap(), None, "{channel}");
    }
    assert!(store.org(there).contacts(None, 10).await.unwrap().is_empty());
    let theirs = contact("their Rosa");
    let created =
        store.org(there).recognize_or_create(&Channel::Telegram, "1001", theirs).await.unwrap();
    assert!(matches!(created, ContactResolution::Created(_)));
}

on_every_backend!(deleting_a_contact_deletes_its_identifiers);
async fn deleting_a_contact_deletes_its_identifiers(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let rosa = store.org(org).create_contact(rosa()).await.unwrap().contact;
    store.org(org).link_identifier(rosa.id, &Channel::Telegram, "rosa77").await.unwrap();
    for (org, version) in [(org, 2), (other, 1)] {
        let refused = store.org(org).delete_contact(rosa.id, version).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_) | StoreError::NotFound(_))));
    }
    store.org(org).delete_contact(rosa.id, 1).await.unwrap();
    assert!(matches!(store.org(org).contact(rosa.id).await, Err(StoreError::NotFound(_))));
    let telegram = store.org(org).recognize(&Channel::Telegram, "rosa77").await.unwrap();
    assert_eq!(telegram, None);
    let again = store.org(org).delete_contact(rosa.id, 1).await;
    assert!(matches!(again, Err(StoreError::NotFound(_))));
}
