//! O03: a change of an org's configuration is made as a whole, on the revision that it was
//! planned for.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, AuditId, DocumentId, RecordId, UserId};
use ostler_domain::knowledge::Document;
use ostler_domain::org::role::Role;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::soul::Soul;
use ostler_domain::time::Timestamp;
use ostler_store::{ConfigChange, ConfigWrite, NewAuditEntry, RecordChange, Store, StoreError};

use crate::on_every_backend;
use crate::support::with_org;

fn deny(tool: &str) -> ToolPolicy {
    ToolPolicy { deny: [tool.parse().unwrap()].into(), ..ToolPolicy::default() }
}

fn entry(id: u128) -> NewAuditEntry {
    NewAuditEntry {
        id: AuditId::from_u128(id),
        actor: AuditActor::Terminal,
        action: "change_org".into(),
        subject: "org x".into(),
        data: "{}".into(),
    }
}

on_every_backend!(o03_a_change_is_stored_with_its_audit_entry_and_what_was_applied);
async fn o03_a_change_is_stored_with_its_audit_entry_and_what_was_applied(store: &Store) {
    let id = with_org(store, 1).await;
    let org = store.org(id);
    let before = org.state().await.unwrap();
    let document = Document::new("Hours", "Nine to five.", []).unwrap();
    let owner = AgentId::from_u128(7);
    let change = ConfigChange {
        revision: Some(before.revision),
        writes: vec![
            ConfigWrite::Policy(deny("a")),
            ConfigWrite::Settings("{\"reopen\":\"resume\"}".into()),
            ConfigWrite::Document(DocumentId::from_u128(1), document.clone()),
            ConfigWrite::Soul { owner, soul: Soul::default(), at: Timestamp::from_millis(1) },
        ],
        audit: vec![entry(1)],
        applied: Some("{}".into()),
    };
    org.change_config(change.clone()).await.unwrap();
    let after = org.state().await.unwrap();
    assert_eq!(after.policy.policy, deny("a"));
    assert_eq!(after.settings.as_deref(), Some("{\"reopen\":\"resume\"}"));
    assert_eq!(after.documents[0].document, document);
    assert_eq!(after.applied.as_deref(), Some("{}"));
    assert_eq!(org.soul_versions(owner).await.unwrap().len(), 1);
    assert_eq!(org.audit_entries(None, None, 10).await.unwrap().len(), 1);
    let again = org.change_config(ConfigChange { audit: vec![entry(2)], ..change }).await;
    assert!(matches!(again, Err(StoreError::ConfigChanged)), "{again:?}");
    assert_eq!(org.audit_entries(None, None, 10).await.unwrap().len(), 1);
}

on_every_backend!(o03_a_change_that_fails_leaves_nothing_behind);
async fn o03_a_change_that_fails_leaves_nothing_behind(store: &Store) {
    let id = with_org(store, 1).await;
    let other = with_org(store, 2).await;
    let org = store.org(id);
    let before = org.state().await.unwrap();
    let nobody = ConfigWrite::Member(UserId::from_u128(99), Role::Owner);
    let change = ConfigChange {
        revision: Some(before.revision),
        writes: vec![ConfigWrite::Policy(deny("a")), nobody],
        audit: vec![entry(1)],
        applied: Some("{}".into()),
    };
    assert!(org.change_config(change).await.is_err());
    let after = org.state().await.unwrap();
    assert_eq!((after.policy.version, after.applied), (0, None));
    assert_eq!(after.revision, before.revision);
    assert!(org.audit_entries(None, None, 10).await.unwrap().is_empty());
    assert_eq!(store.org(other).state().await.unwrap().policy.version, 0);
}

on_every_backend!(
    /// O02, O03: records are part of the change: with one that somebody else changed,
    /// nothing of it is stored.
    o02_o03_records_are_stored_with_the_configuration_or_not_at_all
);
async fn o02_o03_records_are_stored_with_the_configuration_or_not_at_all(store: &Store) {
    let org = store.org(with_org(store, 1).await);
    let (kind, id) = ("product".to_owned(), RecordId::from_u128(1));
    let change = |revision, record: RecordChange, tool: &str, audit| ConfigChange {
        revision: Some(revision),
        writes: vec![ConfigWrite::Policy(deny(tool)), ConfigWrite::Records(vec![record])],
        audit: vec![entry(audit)],
        applied: None,
    };
    let revision = org.state().await.unwrap().revision;
    let create = RecordChange::CreateRecord { kind: kind.clone(), id, data: "{}".into() };
    org.change_config(change(revision, create.clone(), "a", 1)).await.unwrap();
    let stored = org.records("product", None, 9).await.unwrap();
    assert_eq!(stored.len(), 1);
    let revision = org.state().await.unwrap().revision;
    let data = "{\"name\":\"Bell\"}".to_owned();
    let stale = RecordChange::UpdateRecord { kind, id, version: 9, data };
    for (record, audit) in [(create, 2), (stale, 3)] {
        let refused = org.change_config(change(revision, record, "b", audit)).await;
        assert!(matches!(refused, Err(StoreError::ConfigChanged)), "{refused:?}");
    }
    assert_eq!(org.state().await.unwrap().policy.policy, deny("a"));
    assert_eq!(org.records("product", None, 9).await.unwrap(), stored);
    assert_eq!(org.audit_entries(None, None, 10).await.unwrap().len(), 1);
}
