//! Business records: any kind, by org, changed by whoever read them last.

use std::time::Duration;

use ostler_domain::hierarchy::Weight;
use ostler_domain::hierarchy::delegation::OrgDelegation;
use ostler_domain::hierarchy::insight::{Insight, InsightCategory};
use ostler_domain::hierarchy::issue::Issue;
use ostler_domain::hierarchy::route::Party;
use ostler_domain::id::{AgentId, OrgId, RecordId};
use ostler_domain::org::layer::BusinessLayer;
use ostler_store::{ANSWERS, Change, Store, StoreError};

use crate::on_every_backend;
use crate::world::{Backend, next, with_org};

on_every_backend!(
    /// L20, L26, L28, L32: the three kinds of records between layers come back
    /// as they were, listed by org and kind.
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
        Weight::High,
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

on_every_backend!(a_record_is_changed_by_whoever_read_it_last);
async fn a_record_is_changed_by_whoever_read_it_last(store: &Store) {
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

on_every_backend!(records_are_read_page_by_page);
async fn records_are_read_page_by_page(store: &Store) {
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

on_every_backend!(several_changes_happen_together_or_not_at_all);
async fn several_changes_happen_together_or_not_at_all(store: &Store) {
    let org = with_org(store, 1).await;
    let (kind, id) = ("booking".to_owned(), RecordId::from_u128(next()));
    let create = Change::CreateRecord { kind: kind.clone(), id, data: "1".into() };
    let update =
        |version| Change::UpdateRecord { kind: kind.clone(), id, version, data: "2".into() };
    // A change counts for those after it in the same list.
    let refused = store.org(org).change(vec![create.clone(), update(1), update(1)]).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))));
    let nothing = store.org(org).record(&kind, id).await;
    assert!(matches!(nothing, Err(StoreError::NotFound(_))));
    store.org(org).change(vec![create.clone(), update(1)]).await.unwrap();
    let now = store.org(org).record(&kind, id).await.unwrap();
    assert_eq!((now.version, now.data.as_str()), (2, "2"));
    let twice = store.org(org).change(vec![update(2), create]).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))));
    assert_eq!(store.org(org).record(&kind, id).await.unwrap().version, 2);
}

on_every_backend!(a_write_that_fails_takes_no_other_down);
async fn a_write_that_fails_takes_no_other_down(store: &Store) {
    let org = with_org(store, 1).await;
    let ids: Vec<RecordId> = (0..100).map(|_| RecordId::from_u128(next())).collect();
    // They wait together, and so share transactions where the backend does that.
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

/// Answers to requests that may be repeated are forgotten in batches once they
/// are old; records of other kinds stay however old they are.
#[tokio::test(flavor = "multi_thread")]
async fn old_answers_are_forgotten() {
    const DAY: Duration = Duration::from_secs(86_400);
    for backend in [Backend::sqlite_file(), Backend::postgres().await] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        for kind in [ANSWERS, ANSWERS, ANSWERS, "booking"] {
            let id = RecordId::from_u128(next());
            store.org(org).create_record(kind, id, "{}".into()).await.unwrap();
        }
        assert_eq!(store.forget_answers(DAY, 9).await.unwrap(), 0, "none is a day old");
        backend.execute("UPDATE records SET updated_at = updated_at - 86400001").await;
        let new = RecordId::from_u128(next());
        store.org(org).create_record(ANSWERS, new, "{}".into()).await.unwrap();
        assert_eq!(store.forget_answers(DAY, 2).await.unwrap(), 2);
        assert_eq!(store.forget_answers(DAY, 2).await.unwrap(), 1);
        assert_eq!(store.forget_answers(DAY, 2).await.unwrap(), 0);
        let left = store.org(org).records(ANSWERS, None, 9).await.unwrap();
        assert_eq!(left.iter().map(|one| one.id).collect::<Vec<_>>(), [new]);
        assert_eq!(store.org(org).records("booking", None, 9).await.unwrap().len(), 1);
    }
}
