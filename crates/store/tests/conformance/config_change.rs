//! O03: a change of an org's configuration is made as a whole, on the revision that it was
//! planned for.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, AuditId, DocumentId, UserId};
use ostler_domain::knowledge::Document;
use ostler_domain::org::role::Role;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::soul::Soul;
use ostler_domain::time::Timestamp;
use ostler_store::{ConfigChange, ConfigWrite, NewAuditEntry, Store, StoreError};

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
