//! Business records.

use std::time::Duration;

use ostler_domain::hierarchy::Importance;
use ostler_domain::hierarchy::delegation::OrgDelegation;
use ostler_domain::hierarchy::insight::{Insight, InsightCategory};
use ostler_domain::hierarchy::issue::Issue;
use ostler_domain::hierarchy::route::Party;
use ostler_domain::id::{AgentId, OrgId, RecordId};
use ostler_domain::org::layer::BusinessLayer;
use ostler_store::{IDEMPOTENCY_RECORD_KIND, RecordChange, Store, StoreError};

use crate::on_every_backend;
use crate::support::{TestDatabase, next, with_org};

on_every_backend!(
    /// L20, L26, L28, L32: the three kinds of cross-layer records round-trip and are
    /// listed by org and kind.
    l32_records_are_listed_by_org_and_kind
);
async fn l32_records_are_listed_by_org_and_kind(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let party =
        |org: OrgId, business_layer| Party { org, agent: AgentId::from_u128(1), business_layer };
    let issue = Issue::new(
        party(here, BusinessLayer::EndCustomer),
        party(here, BusinessLayer::Client),
        "double charge",
        Importance::High,
        "Rosa: …",
    )
    .unwrap();
    let work = OrgDelegation::new(there, here, "new menu", None).unwrap();
    let insight =
        Insight::new(here, there, "more vegan", InsightCategory::Suggestion, None).unwrap();
    let all = [
        ("escalation", serde_json::to_string(&issue).unwrap()),
        ("delegation", serde_json::to_string(&work).unwrap()),
        ("insight", serde_json::to_string(&insight).unwrap()),
    ];
    for (kind, data) in &all {
        let id = RecordId::from_u128(next());
        store.org(here).create_record(kind, id, data.clone()).await.unwrap();
    }
    for (kind, data) in &all {
        let found = store.org(here).records(kind, None, 10).await.unwrap();
        assert_eq!(found.len(), 1, "{kind}");
        assert_eq!((&found[0].data, found[0].version), (data, 1), "{kind}");
        assert!(store.org(there).records(kind, None, 10).await.unwrap().is_empty(), "{kind}");
    }
    let read = &store.org(here).records("escalation", None, 1).await.unwrap()[0];
    assert_eq!(serde_json::from_str::<Issue>(&read.data).unwrap(), issue);
}

on_every_backend!(updating_a_record_with_a_stale_version_conflicts);
async fn updating_a_record_with_a_stale_version_conflicts(store: &Store) {
    let org = with_org(store, 1).await;
    let id = RecordId::from_u128(next());
    store.org(org).create_record("booking", id, "1".into()).await.unwrap();
    let twice = store.org(org).create_record("booking", id, "2".into()).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))));
    let read = store.org(org).record("booking", id).await.unwrap();
    store.org(org).update_record("booking", &read, "2".into()).await.unwrap();
    let late = store.org(org).update_record("booking", &read, "3".into()).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))));
    let now = store.org(org).record("booking", id).await.unwrap();
    assert_eq!((now.version, now.data.as_str()), (2, "2"));
    let elsewhere = store.org(org).update_record("contact", &now, "4".into()).await;
    assert!(matches!(elsewhere, Err(StoreError::NotFound("record"))));
}

on_every_backend!(records_are_listed_in_pages);
async fn records_are_listed_in_pages(store: &Store) {
    let org = with_org(store, 1).await;
    for n in 0..25 {
        let id = RecordId::from_u128(next());
        store.org(org).create_record("contact", id, n.to_string()).await.unwrap();
    }
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.org(org).records("contact", after, 10).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        seen.extend(page.into_iter().map(|record| record.data));
    }
    let expected: Vec<String> = (0..25).map(|n| n.to_string()).collect();
    assert_eq!(seen, expected);
}

on_every_backend!(record_changes_are_applied_together_or_not_at_all);
async fn record_changes_are_applied_together_or_not_at_all(store: &Store) {
    let org = with_org(store, 1).await;
    let (kind, id) = ("booking".to_owned(), RecordId::from_u128(next()));
    let create = RecordChange::CreateRecord { kind: kind.clone(), id, data: "1".into() };
    let update =
        |version| RecordChange::UpdateRecord { kind: kind.clone(), id, version, data: "2".into() };
    // Later changes in the list see the earlier ones.
    let refused = store.org(org).apply_changes(vec![create.clone(), update(1), update(1)]).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))));
    let nothing = store.org(org).record(&kind, id).await;
    assert!(matches!(nothing, Err(StoreError::NotFound(_))));
    store.org(org).apply_changes(vec![create.clone(), update(1)]).await.unwrap();
    let now = store.org(org).record(&kind, id).await.unwrap();
    assert_eq!((now.version, now.data.as_str()), (2, "2"));
    let twice = store.org(org).apply_changes(vec![update(2), create]).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))));
    assert_eq!(store.org(org).record(&kind, id).await.unwrap().version, 2);
}

on_every_backend!(a_failed_write_does_not_fail_the_others);
async fn a_failed_write_does_not_fail_the_others(store: &Store) {
    let org = with_org(store, 1).await;
    let ids: Vec<RecordId> = (0..100).map(|_| RecordId::from_u128(next())).collect();
    // They are queued together and share transactions on backends that group writes.
    let writes = ids.iter().flat_map(|id| [(*id, "first"), (*id, "second")]).map(|(id, data)| {
        let store = store.clone();
        tokio::spawn(async move {
            (id, data, store.org(org).create_record("booking", id, data.into()).await)
        })
    });
    let (mut written, mut refused) = (Vec::new(), 0);
    for write in writes.collect::<Vec<_>>() {
        match write.await.unwrap() {
            (id, data, Ok(())) => written.push((id, data.to_owned())),
            (_, _, Err(StoreError::Conflict(_))) => refused += 1,
            (_, _, Err(error)) => panic!("{error}"),
        }
    }
    written.sort();
    let found = store.org(org).records("booking", None, 1000).await.unwrap();
    let found: Vec<_> = found.into_iter().map(|record| (record.id, record.data)).collect();
    assert_eq!((found.len(), refused), (100, 100));
    assert_eq!(found, written, "what was answered is what is there");
}

/// Old idempotency records are deleted in batches; records of other kinds are
/// kept however old they are.
#[tokio::test(flavor = "multi_thread")]
async fn old_idempotency_records_are_deleted() {
    const DAY: Duration = Duration::from_secs(86_400);
    for backend in [TestDatabase::sqlite_file(), TestDatabase::postgres().await] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        for kind in
            [IDEMPOTENCY_RECORD_KIND, IDEMPOTENCY_RECORD_KIND, IDEMPOTENCY_RECORD_KIND, "booking"]
        {
            let id = RecordId::from_u128(next());
            store.org(org).create_record(kind, id, "{}".into()).await.unwrap();
        }
        assert_eq!(store.delete_idempotency_records(DAY, 9).await.unwrap(), 0, "none is a day old");
        backend.execute("UPDATE records SET updated_at = updated_at - 86400001").await;
        let new = RecordId::from_u128(next());
        store.org(org).create_record(IDEMPOTENCY_RECORD_KIND, new, "{}".into()).await.unwrap();
        assert_eq!(store.delete_idempotency_records(DAY, 2).await.unwrap(), 2);
        assert_eq!(store.delete_idempotency_records(DAY, 2).await.unwrap(), 1);
        assert_eq!(store.delete_idempotency_records(DAY, 2).await.unwrap(), 0);
        let left = store.org(org).records(IDEMPOTENCY_RECORD_KIND, None, 9).await.unwrap();
        assert_eq!(left.iter().map(|record| record.id).collect::<Vec<_>>(), [new]);
        assert_eq!(store.org(org).records("booking", None, 9).await.unwrap().len(), 1);
    }
}
