//! Many changes with one audit entry.

use ostler_domain::audit::AuditActor;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{AuditId, ContactId, RecordId};
use ostler_store::{NewAuditEntry, RecordChange, Store, StoreError};

use crate::on_every_backend;
use crate::support::{next, with_org};

fn audit() -> NewAuditEntry {
    NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::Terminal,
        action: "import_data".into(),
        subject: "products".into(),
        data: "{}".into(),
    }
}

fn create(data: &str) -> (RecordId, RecordChange) {
    let (id, kind, data) = (RecordId::from_u128(next()), "product".to_owned(), data.to_owned());
    (id, RecordChange::CreateRecord { kind, id, data })
}

on_every_backend!(o16_an_import_stores_all_rows_or_none);
async fn o16_an_import_stores_all_rows_or_none(store: &Store) {
    let here = with_org(store, 1).await;
    let org = store.org(here);
    let changes: Vec<RecordChange> =
        (0..1200).map(|at| create(&format!("{{\"n\":{at}}}")).1).collect();
    org.audited(audit()).apply_changes(changes).await.unwrap();
    assert_eq!(org.records("product", None, 5000).await.unwrap().len(), 1200);

    let known = org.records("product", None, 1).await.unwrap().remove(0);
    let update = |version| RecordChange::UpdateRecord {
        kind: "product".into(),
        id: known.id,
        version,
        data: "{\"n\":-1}".into(),
    };
    let rosa = Contact {
        id: ContactId::from_u128(next()),
        name: "Rosa".into(),
        details: ContactDetails { phone: None, email: Some("rosa@x.it".into()) },
        locale: None,
        tags: [].into(),
        notes: vec![],
        crm: None,
    };
    let (id, new) = create("{}");
    let stale = vec![new, RecordChange::CreateContact(rosa.clone()), update(7)];
    let refused = org.audited(audit()).apply_changes(stale).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    assert!(matches!(org.record("product", id).await, Err(StoreError::NotFound(_))));
    assert_eq!(org.contact_by_email("rosa@x.it").await.unwrap(), None);
    assert_eq!(org.audit_entries(None, None, 10).await.unwrap().len(), 1);

    let fresh = vec![RecordChange::CreateContact(rosa.clone()), update(1)];
    org.audited(audit()).apply_changes(fresh).await.unwrap();
    let found = org.contact_by_email("ROSA@x.it").await.unwrap().unwrap();
    assert_eq!(found.contact, rosa);
    assert_eq!(org.record("product", known.id).await.unwrap().data, "{\"n\":-1}");
    let renamed = Contact { name: "Rosa B.".into(), ..rosa };
    let change = RecordChange::UpdateContact { version: found.version, contact: renamed.clone() };
    org.audited(audit()).apply_changes(vec![change]).await.unwrap();
    assert_eq!(org.contact(renamed.id).await.unwrap().contact, renamed);

    let delete = |version| org.audited(audit()).delete_record("product", known.id, version);
    assert!(matches!(delete(1).await, Err(StoreError::Conflict(_))));
    delete(2).await.unwrap();
    assert!(matches!(delete(2).await, Err(StoreError::NotFound("record"))));
}
