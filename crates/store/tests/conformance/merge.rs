//! Merging contacts, and visitors who are no contacts.

use ostler_domain::audit::AuditActor;
use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails, merge};
use ostler_domain::id::{AuditId, BindingId, ContactId, OrgId, RecordId};
use ostler_domain::session::key::Peer;
use ostler_store::{
    MergeCounts, NewAuditEntry, PersonalDataKind, Store, StoreError, StoredContact,
};

use crate::on_every_backend;
use crate::privacy::people::{message_from, org};
use crate::support::{claim, next, turn};

fn audit() -> NewAuditEntry {
    NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::Terminal,
        action: "merge_contacts".into(),
        subject: "x".into(),
        data: "{}".into(),
    }
}

async fn create(
    store: &Store,
    org: OrgId,
    phone: Option<&str>,
    email: Option<&str>,
) -> StoredContact {
    let contact = Contact {
        id: ContactId::from_u128(next()),
        name: "Rosa".into(),
        details: ContactDetails { phone: phone.map(Into::into), email: email.map(Into::into) },
        locale: None,
        tags: [].into(),
        notes: vec![],
        crm: None,
    };
    store.org(org).create_contact(contact).await.unwrap()
}

async fn write(store: &Store, org: OrgId, binding: BindingId, person: &str) {
    let message = message_from(org, binding, Peer::Person(person.into()), "{}".into());
    store.org(org).accept_inbound(message, 100).await.unwrap();
}

on_every_backend!(o25_identifiers_conversations_and_records_move_to_the_kept_contact);
async fn o25_identifiers_conversations_and_records_move_to_the_kept_contact(store: &Store) {
    let here = org(store, 1).await;
    let there = org(store, 2).await;
    let rosa = create(store, here.id, Some("+39 06 1"), None).await;
    let twin = create(store, here.id, Some("+39 06 2"), Some("rosa@x.it")).await;
    let own = store.org(here.id);
    own.link_identifier(twin.contact.id, &Channel::Telegram, "77").await.unwrap();
    write(store, here.id, here.email, "Rosa@x.it").await;
    let order = format!("{{\"contact\":\"{}\"}}", twin.contact.id);
    let id = RecordId::from_u128(next());
    own.create_record("order", id, order.clone()).await.unwrap();
    store.org(there.id).create_record("order", id, order.clone()).await.unwrap();

    // Not while a worker answers.
    let claimed = claim(store).await.unwrap();
    let merged = merge(&rosa.contact, &twin.contact);
    let run = || own.audited(audit()).merge_contacts(&rosa, &twin, merged.clone());
    assert!(matches!(run().await, Err(StoreError::ConversationBusy)));
    let mut answered = turn(&claimed);
    answered.session.data = order.clone();
    let session = answered.session.id;
    store.commit_turn(&answered).await.unwrap();

    let counts = run().await.unwrap();
    assert_eq!(counts, MergeCounts { identifiers: 1, conversations: 1, records: 1 });
    let kept = order.replace(&twin.contact.id.to_string(), &rosa.contact.id.to_string());
    assert_eq!(own.record("order", id).await.unwrap().data, kept);
    assert_eq!(own.session(session).await.unwrap().data, kept);
    assert_eq!(store.org(there.id).record("order", id).await.unwrap().data, order, "not there");
    assert!(matches!(own.contact(twin.contact.id).await, Err(StoreError::NotFound("contact"))));
    assert_eq!(own.contact(rosa.contact.id).await.unwrap().contact, merged);
    for (channel, identifier) in [
        (Channel::Telegram, "77"),
        (Channel::Email, "rosa@x.it"),
        (Channel::Sms, "+39061"),
        (Channel::Sms, "+39062"),
    ] {
        let found = own.recognize(&channel, identifier).await.unwrap();
        assert_eq!(
            found.map(|one| one.contact.id),
            Some(rosa.contact.id),
            "{channel} {identifier}"
        );
    }
    let stale = run().await;
    assert!(matches!(stale, Err(StoreError::NotFound(_) | StoreError::Conflict(_))), "{stale:?}");
    assert_eq!(own.audit_entries(None, None, 10).await.unwrap().len(), 1);
}

on_every_backend!(o25_visitors_are_listed_found_and_exported);
async fn o25_visitors_are_listed_found_and_exported(store: &Store) {
    let here = org(store, 1).await;
    let own = store.org(here.id);
    create(store, here.id, Some("+39 06 1"), None).await;
    write(store, here.id, here.sms, "+39061").await;
    write(store, here.id, here.telegram, "Zoe").await;
    write(store, here.id, here.email, "zoe@x.it").await;
    let group = message_from(here.id, here.telegram, Peer::Group("g".into()), "{}".into());
    own.accept_inbound(group, 100).await.unwrap();
    let names = |all: &[ostler_store::ChannelVisitor]| -> Vec<String> {
        all.iter().map(|one| format!("{}:{}", one.channel, one.identifier)).collect()
    };
    let all = own.visitors(10).await.unwrap();
    assert_eq!(names(&all), ["email:zoe@x.it", "telegram:Zoe"]);
    assert_eq!(own.visitors(1).await.unwrap().len(), 1);
    assert_eq!(names(&own.find_visitors("ZOE").await.unwrap()), ["telegram:Zoe"]);
    assert!(own.find_visitors("+39061").await.unwrap().is_empty(), "she is a contact");
    let found = own.contact_by_identifier("+39 061").await.unwrap();
    assert_eq!(found.map(|one| one.contact.name), Some("Rosa".to_owned()));
    let counts = own.export_visitor(all[1].clone()).count().await.unwrap();
    let kinds: Vec<PersonalDataKind> = counts.into_keys().collect();
    assert_eq!(kinds, [PersonalDataKind::Conversation, PersonalDataKind::Inbound]);
}
